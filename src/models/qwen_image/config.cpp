#include "models/qwen_image/config.h"

#include <numeric>

#include "base/strings.h"
#include "models/config_sizes.h"

namespace tessera::models {
namespace {

Status check(const QwenImageConfig& c) {
  const int64_t rotated = std::accumulate(c.axes_dims_rope.begin(), c.axes_dims_rope.end(), int64_t{0});
  const bool even = std::all_of(c.axes_dims_rope.begin(), c.axes_dims_rope.end(), [](int64_t d) { return d % 2 == 0; });
  if (c.axes_dims_rope.size() != 3 || rotated != c.attention_head_dim || !even) {
    return fail(ErrorCode::BadFile, strings::join("Qwen-Image config: axes_dims_rope cover ", rotated,
                                                  " channels of a head of ", c.attention_head_dim));
  }
  if (c.in_channels % 4 != 0 || c.in_channels != c.patch_size * c.patch_size * c.out_channels) {
    return fail(ErrorCode::BadFile, strings::join("Qwen-Image config: ", c.in_channels, " channels in, ",
                                                  c.out_channels, " channels out in patches of ", c.patch_size));
  }
  return {};
}

}  // namespace

FluxConfig QwenImageConfig::block_config() const {
  FluxConfig out;
  out.attention_head_dim = attention_head_dim;
  out.num_attention_heads = num_attention_heads;
  return out;
}

Result<QwenImageConfig> parse_qwen_image_config(const Json& config) {
  QwenImageConfig c;
  TESSERA_TRY_OK(check_config_sizes(config, "Qwen-Image config"));
  TESSERA_TRY(c.patch_size, json::value_or(config, "patch_size", c.patch_size));
  TESSERA_TRY(c.in_channels, json::value_or(config, "in_channels", c.in_channels));
  TESSERA_TRY(c.out_channels, json::value_or(config, "out_channels", c.out_channels));
  TESSERA_TRY(c.num_layers, json::value_or(config, "num_layers", c.num_layers));
  TESSERA_TRY(c.attention_head_dim, json::value_or(config, "attention_head_dim", c.attention_head_dim));
  TESSERA_TRY(c.num_attention_heads, json::value_or(config, "num_attention_heads", c.num_attention_heads));
  TESSERA_TRY(c.joint_attention_dim, json::value_or(config, "joint_attention_dim", c.joint_attention_dim));
  TESSERA_TRY(c.axes_dims_rope, json::value_or(config, "axes_dims_rope", c.axes_dims_rope));
  for (const char* name : {"guidance_embeds", "zero_cond_t", "use_additional_t_cond", "use_layer3d_rope"}) {
    TESSERA_TRY(const bool set, json::value_or(config, name, false));
    if (set) return fail(ErrorCode::Unsupported, strings::join("Qwen-Image config: ", name));
  }
  TESSERA_TRY_OK(check(c));
  return c;
}

pipeline::AttentionSite qwen_image_attention_site(const QwenImageConfig& config, int64_t text_tokens,
                                                  int64_t image_tokens) {
  const int64_t tokens = text_tokens + image_tokens;
  const attention::AttentionProblem problem = attention::dense_problem(
      {.seq_q = tokens, .seq_kv = tokens, .heads = config.num_attention_heads, .head_dim = config.attention_head_dim});
  return {"transformer", "transformer_blocks", problem, config.num_layers, pipeline::SiteStage::Step};
}

}  // namespace tessera::models
