// config.json of diffusers' AutoencoderKLWan and AutoencoderKLQwenImage: one autoencoder under two names.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "pipeline/attention_site.h"

namespace tessera::models {

struct WanVaeConfig {
  int64_t base_dim = 96;
  int64_t decoder_base_dim = 96;
  int64_t z_dim = 16;
  std::vector<int64_t> dim_mult = {1, 2, 4, 4};
  int64_t num_res_blocks = 2;
  std::vector<bool> temporal_downsample = {false, true, true};
  std::vector<double> latents_mean;  ///< [z_dim]
  std::vector<double> latents_std;   ///< [z_dim]
  bool is_residual = false;          ///< Wan 2.2: shortcuts around whole blocks
  int64_t in_channels = 3;
  int64_t out_channels = 3;
  int64_t patch_size = 1;  ///< Wan 2.2: pixels are packed into channels
  int64_t scale_factor_temporal = 4;
  int64_t scale_factor_spatial = 8;
};

/// Errors: BadFile for wrong types or lists that do not fit together; Unsupported for attention inside the levels.
Result<WanVaeConfig> parse_wan_vae_config(const Json& config);

/// The attention of decoding `frames` latent frames of height x width cells.
pipeline::AttentionSite wan_vae_attention_site(const WanVaeConfig& config, int64_t frames, int64_t height,
                                               int64_t width);

}  // namespace tessera::models
