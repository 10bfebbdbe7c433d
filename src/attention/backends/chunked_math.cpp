// Slower than a fused kernel, but every step can be seen and nothing excluded ever meets a sum.
#include "attention/backends/chunked_math.h"

#include <limits>

#include "attention/backends/masks.h"

namespace tessera::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Keys and values in the type of the arithmetic, one head for each query head.
struct Side {
  at::Tensor key;           // [B, Hq, D, Skv]
  at::Tensor value;         // [B, Hq, Skv, Dv], non-finite ones replaced by 0
  at::Tensor bad_value[3];  // 1 where the value is NaN, +inf, -inf; undefined when all are finite
};

/// [B, S, Hkv, D] → [B, Hq, S, D]
at::Tensor per_query_head(const at::Tensor& tensor, int64_t heads_q, at::ScalarType type) {
  const at::Tensor heads_first = tensor.to(type).transpose(1, 2);
  const int64_t group = heads_q / tensor.size(2);
  if (group == 1) return heads_first;
  return heads_first.unsqueeze(2)
      .expand({tensor.size(0), tensor.size(2), group, tensor.size(1), tensor.size(3)})
      .reshape({tensor.size(0), heads_q, tensor.size(1), tensor.size(3)});
}

Side make_side(const AttentionInputs& inputs, at::ScalarType type) {
  Side side;
  const int64_t heads_q = inputs.query.size(2);
  side.key = per_query_head(inputs.key, heads_q, type).transpose(2, 3);
  side.value = per_query_head(inputs.value, heads_q, type);
  const at::Tensor finite = at::isfinite(side.value);
  if (finite.all().item<bool>()) return side;
  side.bad_value[0] = at::isnan(side.value).to(type);
  side.bad_value[1] = (side.value == kInfinity).to(type);
  side.bad_value[2] = (side.value == -kInfinity).to(type);
  side.value = side.value.masked_fill(finite.logical_not(), 0.0);
  return side;
}

/// Puts back what the replaced values would have done to the queries that may see them. seen [B, Hq, n, Skv] of 0
/// and 1.
at::Tensor spread_bad_values(const at::Tensor& out, const Side& side, const at::Tensor& seen) {
  const at::Tensor nan = at::matmul(seen, side.bad_value[0]) > 0;
  const at::Tensor up = at::matmul(seen, side.bad_value[1]) > 0;
  const at::Tensor down = at::matmul(seen, side.bad_value[2]) > 0;
  const at::Tensor mixed = nan.logical_or(up.logical_and(down));
  return out.masked_fill(up, kInfinity).masked_fill(down, -kInfinity).masked_fill(mixed, kNan);
}

/// The queries [begin, begin + count) of a mask that may be broadcast over them.
at::Tensor mask_rows(const at::Tensor& mask, int64_t begin, int64_t count) {
  return mask.size(-2) == 1 ? mask : mask.narrow(-2, begin, count);
}

}  // namespace

void chunked_math(const AttentionInputs& inputs, const AttentionOutputs& outputs) {
  constexpr int64_t kRows = 256;
  const auto type = inputs.query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const Side side = make_side(inputs, type);
  const at::Tensor query = inputs.query.to(type).transpose(1, 2);  // [B, Hq, Sq, D]
  const at::Tensor allowed = allowed_keys(inputs);
  const auto* additive = std::get_if<AdditiveMask>(&inputs.mask);
  for (int64_t begin = 0; begin < query.size(2); begin += kRows) {
    const int64_t count = std::min(kRows, query.size(2) - begin);
    at::Tensor logits = at::matmul(query.narrow(2, begin, count), side.key) * inputs.scale;  // [B, Hq, n, Skv]
    if (additive != nullptr) logits = logits + additive->bias.narrow(2, begin, count).to(type);
    if (allowed.defined()) logits.masked_fill_(mask_rows(allowed, begin, count).logical_not(), -kInfinity);
    const at::Tensor top = logits.amax(-1, true);
    const at::Tensor weights = at::exp(logits - top.masked_fill(top == -kInfinity, 0.0));
    const at::Tensor sum = weights.sum(-1, true);  // 0 only without any key
    if (outputs.lse.defined()) {
      outputs.lse.narrow(2, begin, count).copy_((at::log(sum) + top).squeeze(-1));
    }
    if (!outputs.out.defined()) continue;
    at::Tensor out = at::matmul(weights, side.value) / sum.masked_fill(sum == 0, 1.0);  // [B, Hq, n, Dv]
    if (side.bad_value[0].defined()) {
      const at::Tensor seen = allowed.defined() ? mask_rows(allowed, begin, count).to(type).expand_as(weights)
                                                : at::ones({1}, weights.options()).expand_as(weights);
      out = spread_bad_values(out, side, seen);
    }
    outputs.out.narrow(1, begin, count).copy_(out.transpose(1, 2));
  }
}

}  // namespace tessera::attention
