// config.json of diffusers' QwenImageTransformer2DModel.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "models/flux/config.h"
#include "pipeline/attention_site.h"

namespace tessera::models {

struct QwenImageConfig {
  int64_t patch_size = 2;
  int64_t in_channels = 64;
  int64_t out_channels = 16;
  int64_t num_layers = 60;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 24;
  int64_t joint_attention_dim = 3584;
  std::vector<int64_t> axes_dims_rope = {16, 56, 56};

  int64_t dim() const { return num_attention_heads * attention_head_dim; }
  /// The sizes of the blocks, which are Flux's double-stream blocks under other names.
  FluxConfig block_config() const;
};

/// Errors: BadFile for wrong types, rotary axes that do not fill a head, or channels that cannot be packed; Unsupported
/// for the switches of the editing and layered models.
Result<QwenImageConfig> parse_qwen_image_config(const Json& config);

/// The transformer's attention for one batch row with that many text and image tokens.
pipeline::AttentionSite qwen_image_attention_site(const QwenImageConfig& config, int64_t text_tokens,
                                                  int64_t image_tokens);

}  // namespace tessera::models
