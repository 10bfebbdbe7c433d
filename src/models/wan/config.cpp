#include "models/wan/config.h"

#include "base/strings.h"
#include "models/config_sizes.h"

namespace tessera::models {

std::array<int64_t, 3> WanConfig::rope_axes() const {
  const int64_t plane = 2 * (attention_head_dim / 6);
  return {attention_head_dim - 2 * plane, plane, plane};
}

Result<WanConfig> parse_wan_config(const Json& config) {
  WanConfig c;
  TESSERA_TRY_OK(check_config_sizes(config, "Wan config"));
  TESSERA_TRY(c.patch_size, json::value_or(config, "patch_size", c.patch_size));
  TESSERA_TRY(c.num_attention_heads, json::value_or(config, "num_attention_heads", c.num_attention_heads));
  TESSERA_TRY(c.attention_head_dim, json::value_or(config, "attention_head_dim", c.attention_head_dim));
  TESSERA_TRY(c.in_channels, json::value_or(config, "in_channels", c.in_channels));
  TESSERA_TRY(c.out_channels, json::value_or(config, "out_channels", c.in_channels));
  TESSERA_TRY(c.text_dim, json::value_or(config, "text_dim", c.text_dim));
  TESSERA_TRY(c.freq_dim, json::value_or(config, "freq_dim", c.freq_dim));
  TESSERA_TRY(c.ffn_dim, json::value_or(config, "ffn_dim", c.ffn_dim));
  TESSERA_TRY(c.num_layers, json::value_or(config, "num_layers", c.num_layers));
  TESSERA_TRY(c.cross_attn_norm, json::value_or(config, "cross_attn_norm", c.cross_attn_norm));
  TESSERA_TRY(c.eps, json::value_or(config, "eps", c.eps));
  TESSERA_TRY(c.rope_max_seq_len, json::value_or(config, "rope_max_seq_len", c.rope_max_seq_len));
  for (const char* field : {"image_dim", "added_kv_proj_dim", "pos_embed_seq_len"}) {
    if (config.contains(field) && !config[field].is_null()) {
      return fail(ErrorCode::Unsupported, strings::join("Wan config: ", field, " (cross-attention to an image)"),
                  "use a Wan 2.2 checkpoint, or Wan 2.1 text-to-video");
    }
  }
  if (c.patch_volume() <= 0 || c.attention_head_dim % 2 != 0 || c.attention_head_dim < 6) {
    return fail(ErrorCode::BadFile, strings::join("Wan config: patches of ", c.patch_volume(), " values and heads of ",
                                                  c.attention_head_dim, " channels do not work"));
  }
  return c;
}

std::vector<pipeline::AttentionSite> wan_attention_sites(const WanConfig& config, const std::string& component,
                                                         int64_t tokens, int64_t text_tokens) {
  attention::AttentionProblem self = attention::dense_problem(
      {.seq_q = tokens, .seq_kv = tokens, .heads = config.num_attention_heads, .head_dim = config.attention_head_dim});
  attention::AttentionProblem cross = self;
  cross.seq_kv = text_tokens;
  cross.role = attention::Role::Cross;
  return {{component, "blocks.attn1", self, config.num_layers, pipeline::SiteStage::Step},
          {component, "blocks.attn2", cross, config.num_layers, pipeline::SiteStage::Step}};
}

}  // namespace tessera::models
