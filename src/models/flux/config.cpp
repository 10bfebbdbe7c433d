#include "models/flux/config.h"

#include <numeric>

#include "base/strings.h"
#include "models/config_sizes.h"

namespace tessera::models {

Result<FluxConfig> parse_flux_config(const Json& config) {
  FluxConfig c;
  TESSERA_TRY_OK(check_config_sizes(config, "Flux config"));
  TESSERA_TRY(c.patch_size, json::value_or(config, "patch_size", c.patch_size));
  TESSERA_TRY(c.in_channels, json::value_or(config, "in_channels", c.in_channels));
  TESSERA_TRY(c.out_channels, json::value_or(config, "out_channels", c.in_channels));
  TESSERA_TRY(c.num_layers, json::value_or(config, "num_layers", c.num_layers));
  TESSERA_TRY(c.num_single_layers, json::value_or(config, "num_single_layers", c.num_single_layers));
  TESSERA_TRY(c.attention_head_dim, json::value_or(config, "attention_head_dim", c.attention_head_dim));
  TESSERA_TRY(c.num_attention_heads, json::value_or(config, "num_attention_heads", c.num_attention_heads));
  TESSERA_TRY(c.joint_attention_dim, json::value_or(config, "joint_attention_dim", c.joint_attention_dim));
  TESSERA_TRY(c.pooled_projection_dim, json::value_or(config, "pooled_projection_dim", c.pooled_projection_dim));
  TESSERA_TRY(c.guidance_embeds, json::value_or(config, "guidance_embeds", c.guidance_embeds));
  TESSERA_TRY(c.axes_dims_rope, json::value_or(config, "axes_dims_rope", c.axes_dims_rope));
  const int64_t rotated = std::accumulate(c.axes_dims_rope.begin(), c.axes_dims_rope.end(), int64_t{0});
  if (c.axes_dims_rope.size() != 3 || rotated != c.attention_head_dim || rotated % 2 != 0) {
    return fail(ErrorCode::BadFile, strings::join("Flux config: axes_dims_rope cover ", rotated,
                                                  " channels of a head of ", c.attention_head_dim));
  }
  if (c.in_channels % 4 != 0) {
    return fail(ErrorCode::BadFile, strings::join("Flux config: ", c.in_channels, " channels are not packs of 2x2"));
  }
  return c;
}

std::vector<pipeline::AttentionSite> flux_attention_sites(const FluxConfig& config, int64_t text_tokens,
                                                          int64_t image_tokens) {
  const int64_t tokens = text_tokens + image_tokens;
  const attention::AttentionProblem problem = attention::dense_problem(
      {.seq_q = tokens, .seq_kv = tokens, .heads = config.num_attention_heads, .head_dim = config.attention_head_dim});
  return {{"transformer", "transformer_blocks", problem, config.num_layers, pipeline::SiteStage::Step},
          {"transformer", "single_transformer_blocks", problem, config.num_single_layers, pipeline::SiteStage::Step}};
}

}  // namespace tessera::models
