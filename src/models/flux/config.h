// config.json of diffusers' FluxTransformer2DModel.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "pipeline/attention_site.h"

namespace tessera::models {

struct FluxConfig {
  int64_t patch_size = 1;
  int64_t in_channels = 64;
  int64_t out_channels = 64;
  int64_t num_layers = 19;
  int64_t num_single_layers = 38;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 24;
  int64_t joint_attention_dim = 4096;
  int64_t pooled_projection_dim = 768;
  bool guidance_embeds = false;
  std::vector<int64_t> axes_dims_rope = {16, 56, 56};

  int64_t dim() const { return num_attention_heads * attention_head_dim; }
};

/// Errors: BadFile for wrong types, rotary axes that do not fill a head, or channels that cannot be packed.
Result<FluxConfig> parse_flux_config(const Json& config);

/// The transformer's attention for one batch row with that many text and image tokens.
std::vector<pipeline::AttentionSite> flux_attention_sites(const FluxConfig& config, int64_t text_tokens,
                                                          int64_t image_tokens);

}  // namespace tessera::models
