// config.json of diffusers' WanTransformer3DModel.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "pipeline/attention_site.h"

namespace tessera::models {

struct WanConfig {
  std::array<int64_t, 3> patch_size = {1, 2, 2};  ///< frames, height, width
  int64_t num_attention_heads = 40;
  int64_t attention_head_dim = 128;
  int64_t in_channels = 16;
  int64_t out_channels = 16;
  int64_t text_dim = 4096;
  int64_t freq_dim = 256;
  int64_t ffn_dim = 13824;
  int64_t num_layers = 40;
  bool cross_attn_norm = true;
  double eps = 1e-6;
  int64_t rope_max_seq_len = 1024;  ///< most patches along one axis

  int64_t dim() const { return num_attention_heads * attention_head_dim; }
  int64_t patch_volume() const { return patch_size[0] * patch_size[1] * patch_size[2]; }
  /// Channels of a head that turn with frame, row and column.
  std::array<int64_t, 3> rope_axes() const;
};

/// Errors: BadFile for wrong types or sizes; Unsupported for the image cross-attention of Wan 2.1 I2V.
Result<WanConfig> parse_wan_config(const Json& config);

/// The attention of one model call with that many latent patches and text tokens.
std::vector<pipeline::AttentionSite> wan_attention_sites(const WanConfig& config, const std::string& component,
                                                         int64_t tokens, int64_t text_tokens);

}  // namespace tessera::models
