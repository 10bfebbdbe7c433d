#include "base/strings.h"
#include "models/config_sizes.h"
#include "models/text/qwen_lm.h"

namespace tessera::models {
namespace {

/// The fields of the language part in one object.
Json language_fields(const Json& file) {
  Json fields = file;
  const auto text = file.find("text_config");
  if (text != file.end() && text->is_object()) fields.update(*text);
  return fields;
}

/// rope_theta stands alone in published configs, and inside rope_parameters in newer ones.
Status read_rope(const Json& config, QwenLmConfig& c) {
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const auto it = config.find(name);
    if (it == config.end() || !it->is_object()) continue;
    TESSERA_TRY(const std::string old_type, json::value_or<std::string>(*it, "type", "default"));
    TESSERA_TRY(const std::string type, json::value_or<std::string>(*it, "rope_type", old_type));
    // With text alone the three axes of "mrope" run alike, which is the plain embedding.
    if (type != "default" && type != "mrope") {
      return fail(ErrorCode::Unsupported, strings::join("Qwen config: positions of type '", type, "'"));
    }
    TESSERA_TRY(c.rope_theta, json::value_or(*it, "rope_theta", c.rope_theta));
  }
  TESSERA_TRY(c.rope_theta, json::value_or(config, "rope_theta", c.rope_theta));
  return {};
}

Status read_kind(const Json& config, QwenLmConfig& c) {
  TESSERA_TRY(const std::string type, json::value_or<std::string>(config, "model_type", "qwen2"));
  if (type == "qwen3") {
    TESSERA_TRY(const bool bias, json::value_or(config, "attention_bias", false));
    c.qk_norm = true;
    c.qkv_bias = c.out_bias = bias ? nn::Bias::Required : nn::Bias::None;
    TESSERA_TRY(c.head_dim, json::value_or(config, "head_dim", int64_t{128}));
    return {};
  }
  if (type != "qwen2" && type != "qwen2_5_vl" && type != "qwen2_5_vl_text") {
    return fail(ErrorCode::Unsupported, strings::join("Qwen config: model_type '", type, "'"),
                "known are qwen2, qwen2_5_vl and qwen3");
  }
  TESSERA_TRY(c.head_dim, json::value_or(config, "head_dim", c.hidden_size / c.num_attention_heads));
  return {};
}

Status check_heads(const QwenLmConfig& c) {
  if (c.num_attention_heads >= 1 && c.num_key_value_heads >= 1 && c.num_attention_heads % c.num_key_value_heads == 0) {
    return {};
  }
  return fail(ErrorCode::BadFile, strings::join("Qwen config: ", c.num_attention_heads, " heads do not share ",
                                                c.num_key_value_heads, " key heads"));
}

}  // namespace

Result<QwenLmConfig> parse_qwen_lm_config(const Json& file) {
  const Json config = language_fields(file);
  QwenLmConfig c;
  TESSERA_TRY_OK(check_config_sizes(config, "Qwen config"));
  TESSERA_TRY(c.vocab_size, json::value_or(config, "vocab_size", c.vocab_size));
  TESSERA_TRY(c.hidden_size, json::value_or(config, "hidden_size", c.hidden_size));
  TESSERA_TRY(c.intermediate_size, json::value_or(config, "intermediate_size", c.intermediate_size));
  TESSERA_TRY(c.num_hidden_layers, json::value_or(config, "num_hidden_layers", c.num_hidden_layers));
  TESSERA_TRY(c.num_attention_heads, json::value_or(config, "num_attention_heads", c.num_attention_heads));
  TESSERA_TRY(c.num_key_value_heads, json::value_or(config, "num_key_value_heads", c.num_attention_heads));
  TESSERA_TRY(c.rms_norm_eps, json::value_or(config, "rms_norm_eps", c.rms_norm_eps));
  TESSERA_TRY(const std::string activation, json::value_or<std::string>(config, "hidden_act", "silu"));
  TESSERA_TRY(c.activation, nn::parse_activation(activation));
  TESSERA_TRY(const bool sliding, json::value_or(config, "use_sliding_window", false));
  if (sliding) return fail(ErrorCode::Unsupported, "Qwen config: use_sliding_window");
  TESSERA_TRY_OK(check_heads(c));
  TESSERA_TRY_OK(read_kind(config, c));
  TESSERA_TRY_OK(read_rope(config, c));
  if (c.head_dim < 2 || c.head_dim % 2 != 0) {
    return fail(ErrorCode::BadFile, strings::join("Qwen config: heads of ", c.head_dim, " channels"));
  }
  return c;
}

pipeline::AttentionSite qwen_lm_attention_site(const QwenLmConfig& config, const std::string& component,
                                               int64_t tokens) {
  attention::AttentionProblem problem = attention::dense_problem(
      {.seq_q = tokens, .seq_kv = tokens, .heads = config.num_attention_heads, .head_dim = config.head_dim});
  problem.heads_kv = config.num_key_value_heads;
  problem.causal = attention::Causal::TopLeft;
  return {component, "layers", problem, config.num_hidden_layers, pipeline::SiteStage::Encode};
}

}  // namespace tessera::models
