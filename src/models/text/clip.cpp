#include "models/text/clip.h"

#include "base/check.h"
#include "base/strings.h"
#include "models/config_sizes.h"
#include "models/text/prompt_tokens.h"
#include "nn/attention.h"

namespace tessera::models {
namespace {

weights::WeightMap without_prefix(const weights::WeightMap& map) {
  return map.has("text_model.embeddings.token_embedding.weight") ? map.sub("text_model") : map;
}

std::vector<ClipLayer> load_layers(const weights::WeightMap& map, const ClipConfig& config) {
  std::vector<ClipLayer> layers;
  for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
    layers.emplace_back(map.sub(strings::join("encoder.layers.", i)), config);
  }
  return layers;
}

/// Where each row's end marker stands. Configs with eos_token_id 2 are older than the fix of that field: their end
/// marker is the row's highest id.
at::Tensor end_positions(const at::Tensor& ids, int64_t eos_token_id) {
  const at::Tensor rows = ids.contiguous();
  const int64_t length = rows.size(1);
  const at::Tensor out = at::zeros({rows.size(0)}, at::kLong);
  for (int64_t b = 0; b < rows.size(0); ++b) {
    const int64_t* row = rows.const_data_ptr<int64_t>() + b * length;
    const int64_t* found =
        eos_token_id == 2 ? std::max_element(row, row + length) : std::find(row, row + length, eos_token_id);
    out.mutable_data_ptr<int64_t>()[b] = found == row + length ? 0 : found - row;
  }
  return out;
}

}  // namespace

Result<ClipConfig> parse_clip_config(const Json& file) {
  const Json& config = file.contains("text_config") ? file.at("text_config") : file;
  ClipConfig c;
  TESSERA_TRY_OK(check_config_sizes(config, "CLIP config"));
  TESSERA_TRY(c.vocab_size, json::value_or(config, "vocab_size", c.vocab_size));
  TESSERA_TRY(c.hidden_size, json::value_or(config, "hidden_size", c.hidden_size));
  TESSERA_TRY(c.intermediate_size, json::value_or(config, "intermediate_size", c.intermediate_size));
  TESSERA_TRY(c.num_hidden_layers, json::value_or(config, "num_hidden_layers", c.num_hidden_layers));
  TESSERA_TRY(c.num_attention_heads, json::value_or(config, "num_attention_heads", c.num_attention_heads));
  TESSERA_TRY(c.max_position_embeddings, json::value_or(config, "max_position_embeddings", c.max_position_embeddings));
  TESSERA_TRY(c.layer_norm_eps, json::value_or(config, "layer_norm_eps", c.layer_norm_eps));
  TESSERA_TRY(c.eos_token_id, json::value_or(config, "eos_token_id", c.eos_token_id));
  TESSERA_TRY(const std::string activation, json::value_or<std::string>(config, "hidden_act", "quick_gelu"));
  TESSERA_TRY(c.activation, nn::parse_activation(activation));
  if (c.num_attention_heads < 1 || c.hidden_size % c.num_attention_heads != 0) {
    return fail(ErrorCode::BadFile, strings::join("CLIP config: hidden_size ", c.hidden_size, " does not divide into ",
                                                  c.num_attention_heads, " heads"));
  }
  return c;
}

ClipLayer::ClipLayer(const weights::WeightMap& map, const ClipConfig& c)
    : layer_norm1(map.sub("layer_norm1"), c.hidden_size, c.layer_norm_eps),
      q(map.sub("self_attn.q_proj"), c.hidden_size, c.hidden_size),
      k(map.sub("self_attn.k_proj"), c.hidden_size, c.hidden_size),
      v(map.sub("self_attn.v_proj"), c.hidden_size, c.hidden_size),
      out(map.sub("self_attn.out_proj"), c.hidden_size, c.hidden_size),
      layer_norm2(map.sub("layer_norm2"), c.hidden_size, c.layer_norm_eps),
      fc1(map.sub("mlp.fc1"), c.hidden_size, c.intermediate_size),
      fc2(map.sub("mlp.fc2"), c.intermediate_size, c.hidden_size) {}

at::Tensor ClipLayer::forward(const at::Tensor& x, const ClipConfig& c, const nn::Scope& scope) const {
  const auto heads = [&](const at::Tensor& t) {
    return t.view({t.size(0), t.size(1), c.num_attention_heads, c.hidden_size / c.num_attention_heads});
  };
  const at::Tensor normed = layer_norm1(x);
  nn::AttentionCall call;
  call.query = heads(q(normed));
  call.key = heads(k(normed));
  call.value = heads(v(normed));
  call.causal = true;
  const at::Tensor attended = x + out(nn::attention(call, scope).flatten(2));
  return attended + fc2(nn::activate(c.activation, fc1(layer_norm2(attended))));
}

ClipTextEncoder::ClipTextEncoder(const weights::WeightMap& full_map, const ClipConfig& config)
    : config_(config),
      token_embedding_(without_prefix(full_map).compact("embeddings.token_embedding.weight",
                                                        {config.vocab_size, config.hidden_size})),
      position_embedding_(without_prefix(full_map).get("embeddings.position_embedding.weight",
                                                       {config.max_position_embeddings, config.hidden_size})),
      layers_(load_layers(without_prefix(full_map), config)),
      final_layer_norm_(without_prefix(full_map).sub("final_layer_norm"), config.hidden_size, config.layer_norm_eps) {}

ClipOutput ClipTextEncoder::forward(const at::Tensor& ids, const nn::Scope& scope) const {
  const int64_t length = ids.size(1);
  TESSERA_CHECK(length <= config_.max_position_embeddings, "CLIP prompt of ", length, " tokens");
  check_token_ids(ids, config_.vocab_size, "CLIP");
  const at::Device device = token_embedding_.device();
  const at::Tensor positions = position_embedding_.slice(0, 0, length);
  at::Tensor x = at::embedding(token_embedding_, ids.to(device)).to(positions.scalar_type()) + positions;
  for (size_t i = 0; i < layers_.size(); ++i) {
    x = layers_[i].forward(x, config_, scope);
    if (scope.trace != nullptr) scope.record(x, strings::join("layer/", i));
  }
  ClipOutput out;
  out.last_hidden_state = final_layer_norm_(x);
  const at::Tensor rows = at::arange(ids.size(0), at::TensorOptions().dtype(at::kLong).device(device));
  out.pooled = out.last_hidden_state.index({rows, end_positions(ids, config_.eos_token_id).to(device)});
  scope.record(out.last_hidden_state, "last_hidden_state");
  scope.record(out.pooled, "pooler_output");
  return out;
}

pipeline::AttentionSite clip_attention_site(const ClipConfig& config, const std::string& component, int64_t tokens) {
  attention::AttentionProblem problem =
      attention::dense_problem({.seq_q = tokens,
                                .seq_kv = tokens,
                                .heads = config.num_attention_heads,
                                .head_dim = config.hidden_size / config.num_attention_heads});
  problem.causal = attention::Causal::TopLeft;
  return {component, "encoder.layers", problem, config.num_hidden_layers, pipeline::SiteStage::Encode};
}

}  // namespace tessera::models
