// config.json of diffusers' ZImageTransformer2DModel.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "pipeline/attention_site.h"

namespace tessera::models {

/// Text and picture are each padded with learned tokens to a multiple of this.
inline constexpr int64_t kZImageMultiple = 32;
/// Latent cells on a side of a token.
inline constexpr int64_t kZImagePatch = 2;

struct ZImageConfig {
  int64_t in_channels = 16;
  int64_t dim = 3840;
  int64_t n_layers = 30;
  int64_t n_refiner_layers = 2;
  int64_t n_heads = 30;
  double norm_eps = 1e-5;
  bool qk_norm = true;
  int64_t cap_feat_dim = 2560;
  double rope_theta = 256;
  double t_scale = 1000;
  std::vector<int64_t> axes_dims = {32, 48, 48};
  std::vector<int64_t> axes_lens = {1024, 512, 512};  ///< positions that each axis of the rotary table has

  int64_t head_dim() const { return dim / n_heads; }
  /// Channels of one token of the picture.
  int64_t patch_channels() const { return kZImagePatch * kZImagePatch * in_channels; }
};

/// Errors: BadFile for wrong types or rotary axes that do not fill a head; Unsupported for models without 2x2 patches.
Result<ZImageConfig> parse_z_image_config(const Json& config);

/// Tokens after padding.
int64_t z_image_padded(int64_t tokens);

/// The transformer's attention for one batch row with that many text and image tokens before padding.
std::vector<pipeline::AttentionSite> z_image_attention_sites(const ZImageConfig& config, int64_t text_tokens,
                                                             int64_t image_tokens);

}  // namespace tessera::models
