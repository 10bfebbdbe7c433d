#include "models/text/qwen_lm.h"

#include "base/check.h"
#include "base/strings.h"
#include "nn/attention.h"

namespace tessera::models {
namespace {

weights::WeightMap without_prefix(const weights::WeightMap& map) {
  for (const char* prefix : {"model.language_model", "language_model", "model"}) {
    if (map.has(strings::join(prefix, ".embed_tokens.weight"))) return map.sub(prefix);
  }
  return map;
}

std::vector<QwenLmLayer> load_layers(const weights::WeightMap& map, const QwenLmConfig& config) {
  std::vector<QwenLmLayer> layers;
  layers.reserve(static_cast<size_t>(config.num_hidden_layers));
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    layers.emplace_back(map.sub(strings::join("layers.", i)), config);
  }
  return layers;
}

/// Hands out hidden states by index as the layers make them.
class HiddenStates {
 public:
  HiddenStates(std::span<const int64_t> wanted, int64_t layers, const nn::Scope& scope)
      : wanted_(wanted.begin(), wanted.end()), out_(wanted.size()), scope_(scope) {
    for (int64_t& index : wanted_) {
      if (index < 0) index += layers + 1;
      TESSERA_CHECK(index >= 0 && index <= layers, "hidden state ", index, " of ", layers, " layers");
      last_ = std::max(last_, index);
    }
  }
  /// True while a state beyond `index` is needed.
  bool go_on(int64_t index) const { return index < last_ || scope_.trace != nullptr; }
  void keep(int64_t index, const at::Tensor& x) {
    if (scope_.trace != nullptr) scope_.record(x, strings::join("hidden_states/", index));
    for (size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i] == index) out_[i] = x;
    }
  }
  std::vector<at::Tensor> take() { return std::move(out_); }

 private:
  std::vector<int64_t> wanted_;
  std::vector<at::Tensor> out_;
  const nn::Scope& scope_;
  int64_t last_ = 0;
};

at::Tensor positions(int64_t length, at::Device device) {
  return at::arange(length, at::TensorOptions().dtype(at::kFloat).device(device)).unsqueeze(1);
}

}  // namespace

std::vector<std::string> qwen_lm_unused() {
  return {"visual.", "model.visual.", "lm_head."};
}

QwenLmLayer::QwenLmLayer(const weights::WeightMap& map, const QwenLmConfig& c)
    : input_norm(map.sub("input_layernorm"), c.hidden_size, c.rms_norm_eps),
      q(map.sub("self_attn.q_proj"), c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
      k(map.sub("self_attn.k_proj"), c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
      v(map.sub("self_attn.v_proj"), c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
      o(map.sub("self_attn.o_proj"), c.num_attention_heads * c.head_dim, c.hidden_size, c.out_bias),
      mlp_norm(map.sub("post_attention_layernorm"), c.hidden_size, c.rms_norm_eps),
      gate(map.sub("mlp.gate_proj"), c.hidden_size, c.intermediate_size, nn::Bias::None),
      up(map.sub("mlp.up_proj"), c.hidden_size, c.intermediate_size, nn::Bias::None),
      down(map.sub("mlp.down_proj"), c.intermediate_size, c.hidden_size, nn::Bias::None) {
  if (!c.qk_norm) return;
  q_norm.emplace(map.sub("self_attn.q_norm"), c.head_dim, c.rms_norm_eps);
  k_norm.emplace(map.sub("self_attn.k_norm"), c.head_dim, c.rms_norm_eps);
}

QwenLm::QwenLm(const weights::WeightMap& map, const QwenLmConfig& config)
    : config_(config),
      embedding_(without_prefix(map).compact("embed_tokens.weight", {config.vocab_size, config.hidden_size})),
      layers_(load_layers(without_prefix(map), config)),
      final_norm_(without_prefix(map).sub("norm"), config.hidden_size, config.rms_norm_eps) {}

at::Tensor QwenLm::attend(const QwenLmLayer& layer, const at::Tensor& x, const Call& shared,
                          const nn::Scope& scope) const {
  const at::Tensor normed = layer.input_norm(x);
  const auto heads = [&](const at::Tensor& t) { return t.view({t.size(0), t.size(1), -1, config_.head_dim}); };
  const auto turned = [&](at::Tensor t, const std::optional<nn::RmsNorm>& norm) {
    return nn::apply_rotary_halves(norm ? (*norm)(t) : t, shared.rotary);
  };
  nn::AttentionCall call;
  call.query = turned(heads(layer.q(normed)), layer.q_norm);
  call.key = turned(heads(layer.k(normed)), layer.k_norm);
  call.value = heads(layer.v(normed));
  call.causal = true;
  call.key_lengths = shared.key_lengths;
  return layer.o(nn::attention(call, scope).flatten(2));
}

at::Tensor QwenLm::feed_forward(const QwenLmLayer& layer, const at::Tensor& x) const {
  const at::Tensor normed = layer.mlp_norm(x);
  return layer.down(nn::activate(config_.activation, layer.gate(normed)).mul_(layer.up(normed)));
}

std::vector<at::Tensor> QwenLm::forward(const at::Tensor& ids, const std::optional<std::vector<int64_t>>& key_lengths,
                                        std::span<const int64_t> wanted, const nn::Scope& scope) const {
  const std::array<int64_t, 1> axes = {config_.head_dim};
  const Call shared{nn::rotary_table(positions(ids.size(1), embedding_.device()), axes, config_.rope_theta),
                    key_lengths};
  const int64_t count = config_.num_hidden_layers;
  HiddenStates states(wanted, count, scope);
  at::Tensor x = at::embedding(embedding_, ids.to(embedding_.device())).to(final_norm_.weight.scalar_type());
  states.keep(0, x);
  for (int64_t i = 0; i < count && states.go_on(i); ++i) {
    const QwenLmLayer& layer = layers_[static_cast<size_t>(i)];
    x = x + attend(layer, x, shared, scope);
    x = x + feed_forward(layer, x);
    if (scope.trace != nullptr) scope.record(x, strings::join("layer/", i));
    if (i + 1 < count) states.keep(i + 1, x);
  }
  if (states.go_on(count - 1)) {
    const at::Tensor last = final_norm_(x);
    scope.record(last, "last_hidden_state");
    states.keep(count, last);
  }
  return states.take();
}

}  // namespace tessera::models
