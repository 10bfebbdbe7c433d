#include "nn/attention.h"

#include "base/check.h"

namespace tessera::nn {
namespace {

/// True where a query may attend, [B|1, 1|H, Sq|1, Skv]; nothing when there is no rule but `causal` alone.
std::optional<at::Tensor> allowed_keys(const AttentionCall& call) {
  std::optional<at::Tensor> allowed = call.bool_mask;
  const int64_t kv = call.key.size(1);
  const auto options = call.query.options();
  const auto restrict_to = [&](const at::Tensor& rule) { allowed = allowed ? (*allowed & rule) : rule; };
  if (call.key_lengths) {
    const auto& lengths = *call.key_lengths;
    TESSERA_CHECK(static_cast<int64_t>(lengths.size()) == call.query.size(0), "one key length per batch row");
    const at::Tensor limit = at::empty({static_cast<int64_t>(lengths.size()), 1, 1, 1}, at::kLong);
    std::copy(lengths.begin(), lengths.end(), limit.mutable_data_ptr<int64_t>());
    restrict_to(at::arange(kv, options.dtype(at::kLong)).view({1, 1, 1, kv}) < limit.to(options.device()));
  }
  if (call.causal && (allowed || call.additive_mask)) {
    restrict_to(at::ones({call.query.size(1), kv}, options.dtype(at::kBool)).tril().view({1, 1, -1, kv}));
  }
  return allowed;
}

struct Mask {
  std::optional<at::Tensor> tensor;  ///< what ATen adds or obeys
  std::optional<at::Tensor> alive;   ///< [.., Sq|1, 1]: rows with at least one allowed key
};

Mask make_mask(const AttentionCall& call) {
  const std::optional<at::Tensor> allowed = allowed_keys(call);
  if (!call.additive_mask) {
    if (!allowed) return {};
    return {allowed, allowed->any(-1, /*keepdim=*/true)};
  }
  const at::Tensor additive = call.additive_mask->to(call.query.scalar_type());
  if (!allowed) return {additive, std::nullopt};
  const double minus_infinity = -std::numeric_limits<double>::infinity();
  return {at::where(*allowed, additive, at::full({}, minus_infinity, additive.options())), allowed->any(-1, true)};
}

}  // namespace

at::Tensor attention(const AttentionCall& call, const Scope& scope) {
  (void)scope;
  const Mask mask = make_mask(call);
  const bool grouped = call.query.size(2) != call.key.size(2);
  at::Tensor out =
      at::scaled_dot_product_attention(call.query.transpose(1, 2), call.key.transpose(1, 2), call.value.transpose(1, 2),
                                       mask.tensor, 0.0, call.causal && !mask.tensor, call.scale, grouped);
  // Softmax over no key is undefined; a dead row is 0 by contract, on every backend.
  if (mask.alive) out = out.masked_fill(mask.alive->logical_not(), 0);
  return out.transpose(1, 2);
}

}  // namespace tessera::nn
