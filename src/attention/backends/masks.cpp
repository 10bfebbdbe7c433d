// Boolean and causal masks as additive ones.
#include "attention/backends/masks.h"

#include <limits>

namespace tessera::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

at::Tensor causal_triangle(Causal causal, int64_t seq_q, int64_t seq_kv, at::Device device) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const int64_t shift = causal == Causal::BottomRight ? seq_kv - seq_q : 0;
  const at::Tensor last_key = at::arange(seq_q, options).unsqueeze(1) + shift;  // [Sq, 1]
  return at::arange(seq_kv, options).unsqueeze(0) <= last_key;                  // [Sq, Skv]
}

at::Tensor length_mask(const KeyLengths& lengths, const Sizes& sizes, at::Device device) {
  const at::Tensor ends = at::empty({sizes.batch, 1, 1, 1}, at::TensorOptions().dtype(at::kLong));
  std::copy(lengths.values.begin(), lengths.values.end(), ends.data_ptr<int64_t>());
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor allowed = at::arange(sizes.seq_kv, options) < ends.to(device);  // [B, 1, 1, Skv]
  return allowed.expand({sizes.batch, sizes.heads_q, sizes.seq_q, sizes.seq_kv});
}

at::Tensor collapse_broadcast(const at::Tensor& mask) {
  at::Tensor small = mask;
  for (int64_t d = 0; d < mask.dim(); ++d) {
    if (mask.stride(d) == 0 && mask.size(d) > 1) small = small.narrow(d, 0, 1);
  }
  return small;
}

at::Tensor allowed_keys(const AttentionInputs& inputs) {
  at::Tensor allowed;
  if (const auto* mask = std::get_if<BoolMask>(&inputs.mask)) allowed = collapse_broadcast(mask->allowed);
  if (const auto* mask = std::get_if<AdditiveMask>(&inputs.mask)) {
    allowed = collapse_broadcast(mask->bias) != -kInfinity;
  }
  if (inputs.causal == Causal::None) return allowed;
  const at::Tensor triangle =
      causal_triangle(inputs.causal, inputs.query.size(1), inputs.key.size(1), inputs.query.device());
  return allowed.defined() ? allowed.logical_and(triangle) : triangle;
}

at::Tensor additive_mask(const AttentionInputs& inputs, const at::Tensor& allowed) {
  if (!allowed.defined()) return {};
  const auto* additive = std::get_if<AdditiveMask>(&inputs.mask);
  const auto options =
      inputs.query.options().dtype(inputs.query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const at::Tensor bias =
      additive != nullptr ? collapse_broadcast(additive->bias).to(options) : at::zeros({1}, options);
  return bias.masked_fill(allowed.logical_not(), -kInfinity);
}

}  // namespace tessera::attention
