// The decoder half of diffusers' AutoencoderKL: from latents to pixels.
#pragma once

#include "tensor/aten.h"

#include "models/vae/kl_blocks.h"
#include "models/vae/kl_config.h"

namespace tessera::models {

/// Residual blocks and, but for the last one, a doubling of the size.
struct KlUpBlock {
  std::vector<KlResnet> resnets;
  std::optional<nn::Conv2d> upsample;

  at::Tensor operator()(const at::Tensor& x) const;  // [B, C, H, W] → [B, C', 2H, 2W]
};

struct KlDecodeOptions {
  bool tiling = false;   ///< decode large pictures in overlapping tiles: less memory, slightly other pixels
  bool slicing = false;  ///< decode one picture of the batch after the other
};

class KlDecoder {
 public:
  /// Reads `decoder.*` and `post_quant_conv.*` of the map; encoder weights are left alone.
  KlDecoder(const weights::WeightMap& map, const KlConfig& config);

  /// z [B, latent_channels, h, w], scaled back already → [B, out_channels, 8h, 8w], nominal range -1..1.
  /// Traces the decoder's parts below the scope.
  at::Tensor decode(const at::Tensor& z, const KlDecodeOptions& options, const nn::Scope& scope) const;

 private:
  at::Tensor decode_one(const at::Tensor& z, const KlDecodeOptions& options, const nn::Scope& scope) const;
  at::Tensor decode_tiled(const at::Tensor& z, const nn::Scope& scope) const;
  at::Tensor decode_whole(const at::Tensor& z, const nn::Scope& scope) const;
  at::Tensor mid_block(const at::Tensor& x, const nn::Scope& scope) const;

  KlConfig config_;
  std::optional<nn::Conv2d> post_quant_conv_;
  nn::Conv2d conv_in_;
  KlResnet mid_first_;
  std::optional<KlAttention> mid_attention_;
  KlResnet mid_second_;
  std::vector<KlUpBlock> up_blocks_;
  nn::GroupNorm norm_out_;
  nn::Conv2d conv_out_;
};

/// Mixes the first `extent` rows or columns (along `dim`) of `tile` with the last ones of its neighbour, in place.
void blend_edge(const at::Tensor& neighbour, at::Tensor& tile, int64_t dim, int64_t extent);

}  // namespace tessera::models
