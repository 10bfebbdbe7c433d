// config.json of diffusers' AutoencoderKL.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "pipeline/attention_site.h"

namespace tessera::models {

struct KlConfig {
  int64_t out_channels = 3;
  int64_t latent_channels = 4;
  std::vector<int64_t> block_out_channels = {64};
  int64_t layers_per_block = 1;
  int64_t norm_num_groups = 32;
  int64_t sample_size = 32;
  double scaling_factor = 0.18215;
  double shift_factor = 0;
  bool force_upcast = true;
  bool use_post_quant_conv = true;
  bool mid_block_add_attention = true;

  /// Pixels per latent cell on a side.
  int64_t spatial_factor() const { return int64_t{1} << (block_out_channels.size() - 1); }
};

/// Errors: BadFile for wrong types or channels that do not divide into groups, Unsupported for block types that are
/// not the plain convolutional ones or an activation other than silu.
Result<KlConfig> parse_kl_config(const Json& config);

/// How the decoder is cut into tiles, from the config as in diffusers. Latent sizes in cells, sample sizes in pixels.
struct KlTiling {
  int64_t latent_size = 0;    ///< side of a tile
  int64_t latent_stride = 0;  ///< from one tile to the next: tiles overlap by a quarter
  int64_t sample_size = 0;    ///< side of a decoded tile
  int64_t blend_extent = 0;   ///< pixels over which neighbours are mixed
  int64_t row_limit() const { return sample_size - blend_extent; }
};
KlTiling kl_tiling(const KlConfig& config);

/// The decoder's attention for latents of that size (in cells); nothing when the config switches it off.
std::vector<pipeline::AttentionSite> kl_attention_sites(const KlConfig& config, int64_t latent_height,
                                                        int64_t latent_width);

}  // namespace tessera::models
