#include "models/text/t5.h"

#include "base/strings.h"
#include "models/config_sizes.h"
#include "models/text/prompt_tokens.h"
#include "nn/attention.h"

namespace tessera::models {
namespace {

// The second feed-forward matrix overflows float16 in the large checkpoints: it and the residual stream behind it
// stay in float32 then, as in the reference.
weights::WeightMap wide_when_half(const weights::WeightMap& map) {
  const at::Tensor probe = map.get("weight", {-1, -1});
  return probe.scalar_type() == at::kHalf ? map.as(at::kFloat) : map;
}

std::vector<T5Layer> load_layers(const weights::WeightMap& map, const T5Config& config) {
  std::vector<T5Layer> layers;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    layers.emplace_back(map.sub(strings::join("encoder.block.", i)), config, i == 0 || config.bias_per_layer);
  }
  return layers;
}

at::Tensor load_embedding(const weights::WeightMap& map, const T5Config& config) {
  const char* name = map.has("shared.weight") ? "shared.weight" : "encoder.embed_tokens.weight";
  return map.compact(name, {config.vocab_size, config.d_model});
}

/// [1, H, L, L]
at::Tensor position_bias(const at::Tensor& table, const at::Tensor& buckets) {
  return at::embedding(table, buckets.to(table.device())).permute({2, 0, 1}).unsqueeze(0).contiguous();
}

}  // namespace

Result<T5Config> parse_t5_config(const Json& config) {
  T5Config c;
  TESSERA_TRY_OK(check_config_sizes(config, "T5 config"));
  TESSERA_TRY(c.vocab_size, json::value_or(config, "vocab_size", c.vocab_size));
  TESSERA_TRY(c.d_model, json::value_or(config, "d_model", c.d_model));
  TESSERA_TRY(c.d_kv, json::value_or(config, "d_kv", c.d_kv));
  TESSERA_TRY(c.d_ff, json::value_or(config, "d_ff", c.d_ff));
  TESSERA_TRY(c.num_layers, json::value_or(config, "num_layers", c.num_layers));
  TESSERA_TRY(c.num_heads, json::value_or(config, "num_heads", c.num_heads));
  TESSERA_TRY(c.num_buckets, json::value_or(config, "relative_attention_num_buckets", c.num_buckets));
  TESSERA_TRY(c.max_distance, json::value_or(config, "relative_attention_max_distance", c.max_distance));
  TESSERA_TRY(c.layer_norm_epsilon, json::value_or(config, "layer_norm_epsilon", c.layer_norm_epsilon));
  TESSERA_TRY(const std::string type, json::value_or<std::string>(config, "model_type", "t5"));
  c.bias_per_layer = type == "umt5";
  TESSERA_TRY(std::string ff, json::value_or<std::string>(config, "feed_forward_proj", "relu"));
  c.gated = ff.starts_with("gated-");
  if (c.gated) ff = ff.substr(6);
  if (c.gated && ff == "gelu") ff = "gelu_new";  // the published "gated-gelu" checkpoints mean the tanh form
  TESSERA_TRY(c.activation, nn::parse_activation(ff));
  if (c.num_buckets < 4 || c.max_distance <= c.num_buckets / 4) {
    return fail(ErrorCode::BadFile, strings::join("T5 config: relative_attention_num_buckets ", c.num_buckets,
                                                  " do not reach to relative_attention_max_distance ", c.max_distance));
  }
  return c;
}

T5Layer::T5Layer(const weights::WeightMap& map, const T5Config& c, bool has_bias)
    : attention_norm(map.sub("layer.0.layer_norm"), c.d_model, c.layer_norm_epsilon),
      q(map.sub("layer.0.SelfAttention.q"), c.d_model, c.num_heads * c.d_kv, nn::Bias::None),
      k(map.sub("layer.0.SelfAttention.k"), c.d_model, c.num_heads * c.d_kv, nn::Bias::None),
      v(map.sub("layer.0.SelfAttention.v"), c.d_model, c.num_heads * c.d_kv, nn::Bias::None),
      o(map.sub("layer.0.SelfAttention.o"), c.num_heads * c.d_kv, c.d_model, nn::Bias::None),
      ff_norm(map.sub("layer.1.layer_norm"), c.d_model, c.layer_norm_epsilon),
      wi(map.sub(c.gated ? "layer.1.DenseReluDense.wi_0" : "layer.1.DenseReluDense.wi"), c.d_model, c.d_ff,
         nn::Bias::None),
      wo(wide_when_half(map.sub("layer.1.DenseReluDense.wo")), c.d_ff, c.d_model, nn::Bias::None) {
  if (c.gated) wi_1.emplace(map.sub("layer.1.DenseReluDense.wi_1"), c.d_model, c.d_ff, nn::Bias::None);
  if (has_bias) {
    relative_bias = map.get("layer.0.SelfAttention.relative_attention_bias.weight", {c.num_buckets, c.num_heads});
  }
}

T5Encoder::T5Encoder(const weights::WeightMap& map, const T5Config& config)
    : config_(config),
      embedding_(load_embedding(map, config)),
      layers_(load_layers(map, config)),
      final_norm_(map.sub("encoder.final_layer_norm"), config.d_model, config.layer_norm_epsilon) {}

at::Tensor T5Encoder::attend(const T5Layer& layer, const at::Tensor& x, const at::Tensor& bias,
                             const std::optional<std::vector<int64_t>>& key_lengths, const nn::Scope& scope) const {
  const at::Tensor normed = layer.attention_norm(x);
  const auto heads = [&](const at::Tensor& t) {
    return t.view({t.size(0), t.size(1), config_.num_heads, config_.d_kv});
  };
  nn::AttentionCall call;
  call.query = heads(layer.q(normed));
  call.key = heads(layer.k(normed));
  call.value = heads(layer.v(normed));
  call.additive_mask = bias;
  call.key_lengths = key_lengths;
  call.scale = 1.0;
  return layer.o(nn::attention(call, scope).flatten(2));
}

at::Tensor T5Encoder::feed_forward(const T5Layer& layer, const at::Tensor& x) const {
  const at::Tensor normed = layer.ff_norm(x);
  at::Tensor hidden = nn::activate(config_.activation, layer.wi(normed));
  if (layer.wi_1) hidden.mul_((*layer.wi_1)(normed));
  return layer.wo(hidden.to(layer.wo.dtype));
}

at::Tensor T5Encoder::forward(const at::Tensor& ids, const std::optional<std::vector<int64_t>>& key_lengths,
                              const nn::Scope& scope) const {
  check_token_ids(ids, config_.vocab_size, "T5");
  const at::Tensor buckets = t5_position_buckets(ids.size(1), config_.num_buckets, config_.max_distance);
  at::Tensor x = at::embedding(embedding_, ids.to(embedding_.device())).to(final_norm_.weight.scalar_type());
  at::Tensor bias;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const T5Layer& layer = layers_[i];
    if (layer.relative_bias) bias = position_bias(*layer.relative_bias, buckets);
    x = x + attend(layer, x, bias, key_lengths, scope);
    x = x + feed_forward(layer, x);
    if (scope.trace != nullptr) scope.record(x, strings::join("layer/", i));
  }
  const at::Tensor out = final_norm_(x);
  scope.record(out, "last_hidden_state");
  return out;
}

at::Tensor t5_position_buckets(int64_t length, int64_t num_buckets, int64_t max_distance) {
  // Half of the buckets are for keys behind the query. Of each half the first part holds one distance a bucket,
  // the rest grows logarithmically up to max_distance. Float32 as in the reference: the borders depend on it.
  const int64_t half = num_buckets / 2;
  const int64_t exact = half / 2;
  const at::Tensor position = at::arange(length, at::kLong);
  const at::Tensor offset = position.unsqueeze(0) - position.unsqueeze(1);  // [L, L] key minus query
  const at::Tensor distance = offset.abs();
  const at::Tensor ratio = (distance.to(at::kFloat) / exact).log() /
                           std::log(static_cast<double>(max_distance) / static_cast<double>(exact)) * (half - exact);
  const at::Tensor far = (ratio.to(at::kLong) + exact).clamp_max(half - 1);
  return (offset > 0).to(at::kLong) * half + at::where(distance < exact, distance, far);
}

pipeline::AttentionSite t5_attention_site(const T5Config& config, const std::string& component, int64_t tokens) {
  attention::AttentionProblem problem =
      attention::dense_problem({.seq_q = tokens, .seq_kv = tokens, .heads = config.num_heads, .head_dim = config.d_kv});
  problem.mask = attention::MaskKind::Additive;
  problem.scale = 1.0;
  return {component, "encoder.block", problem, config.num_layers, pipeline::SiteStage::Encode};
}

}  // namespace tessera::models
