#include "nn/attention.h"

#include "attention/engine.h"
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

at::Tensor plain_attention(const AttentionCall& call) {
  const Mask mask = make_mask(call);
  const bool grouped = call.query.size(2) != call.key.size(2);
  at::Tensor out =
      at::scaled_dot_product_attention(call.query.transpose(1, 2), call.key.transpose(1, 2), call.value.transpose(1, 2),
                                       mask.tensor, 0.0, call.causal && !mask.tensor, call.scale, grouped);
  // Softmax over no key is undefined; a dead row is 0 by contract, on every backend.
  if (mask.alive) out = out.masked_fill(mask.alive->logical_not(), 0);
  return out.transpose(1, 2);
}

/// The rules that a call may combine, as the one mask that the engine takes.
attention::Mask engine_mask(const AttentionCall& call) {
  const int64_t kv = call.key.size(1);
  const auto is_full = [kv](int64_t length) { return length == kv; };
  const bool padded = call.key_lengths && !std::all_of(call.key_lengths->begin(), call.key_lengths->end(), is_full);
  if (!call.bool_mask && !call.additive_mask) {
    if (!padded) return std::monostate{};
    return attention::KeyLengths{*call.key_lengths};
  }
  const attention::Sizes sizes = {
      call.query.size(0), call.query.size(1), kv, call.query.size(2), call.key.size(2), 0, 0};
  const auto expand = [&sizes](const at::Tensor& mask) {
    auto full = attention::expand_mask(mask, sizes);
    if (!full) throw RuntimeFault(std::move(full).error());
    return *full;
  };
  AttentionCall rules = call;
  rules.causal = false;  // the engine has it as a field of its own
  if (!padded) rules.key_lengths.reset();
  const std::optional<at::Tensor> allowed = allowed_keys(rules);
  if (!call.additive_mask) return attention::BoolMask{expand(*allowed)};
  const bool as_is = call.additive_mask->scalar_type() == call.query.scalar_type();
  const at::Tensor bias = as_is ? *call.additive_mask : call.additive_mask->to(at::kFloat);
  if (!allowed) return attention::AdditiveMask{expand(bias)};
  return attention::AdditiveMask{
      expand(bias.masked_fill(allowed->logical_not(), -std::numeric_limits<double>::infinity()))};
}

at::Tensor engine_attention(const AttentionCall& call, const Scope& scope) {
  attention::AttentionInputs inputs = {call.query, call.key, call.value, engine_mask(call)};
  inputs.causal = call.causal ? attention::Causal::TopLeft : attention::Causal::None;
  inputs.scale = call.scale.value_or(1 / std::sqrt(static_cast<double>(call.query.size(3))));
  const auto role = call.role == AttentionRole::Cross ? attention::Role::Cross : attention::Role::Self;
  auto outputs = scope.engine->run(inputs, {scope.component, role, call.pin, call.layer_default});
  if (!outputs) throw RuntimeFault(std::move(outputs).error());
  return outputs->out;
}

}  // namespace

at::Tensor attention(const AttentionCall& call, const Scope& scope) {
  return scope.engine != nullptr ? engine_attention(call, scope) : plain_attention(call);
}

}  // namespace tessera::nn
