// AutoencoderKLWan: the causal video autoencoder of Wan 2.1, Wan 2.2 and Qwen-Image.
#pragma once

#include "tensor/aten.h"

#include "models/vae/wan_blocks.h"
#include "models/vae/wan_config.h"
#include "models/vae/wan_levels.h"

namespace tessera::models {

/// Called with every decoded piece, in order: [B, 3, f, H, W] in -1..1, f frames from `frame` on.
using OnFrames = std::function<void(const at::Tensor& frames, int64_t frame)>;

class WanDecoder {
 public:
  /// Reads `decoder.*` and `post_quant_conv.*`.
  WanDecoder(const weights::WeightMap& map, const WanVaeConfig& config);

  /// Decodes latent frame by latent frame, so that memory does not grow with the length of the video.
  /// z [B, z_dim, f, h, w], scaled back already. Traces the parts of every chunk ("conv_in", "conv_in#1", …).
  void decode(const at::Tensor& z, const nn::Scope& scope, const OnFrames& on_frames) const;

  /// The same for large frames, in overlapping tiles of 256 x 256 pixels; holds the whole video.
  void decode_tiled(const at::Tensor& z, const nn::Scope& scope, const OnFrames& on_frames) const;

 private:
  at::Tensor decode_chunk(const at::Tensor& z, FrameCache& cache, const nn::Scope& scope, int64_t chunk) const;
  at::Tensor decode_tile(const at::Tensor& z, const nn::Scope& scope) const;

  WanVaeConfig config_;
  CausalConv3d post_quant_conv_;
  CausalConv3d conv_in_;
  WanMidBlock mid_block_;
  std::vector<WanUpLevel> levels_;
  ChannelNorm norm_out_;
  CausalConv3d conv_out_;
};

class WanEncoder {
 public:
  /// Reads `encoder.*` and `quant_conv.*`.
  WanEncoder(const weights::WeightMap& map, const WanVaeConfig& config);

  /// The mean of the latent distribution. video [B, 3, 1 + 4 n, H, W] in -1..1 → [B, z_dim, 1 + n, h, w], not yet
  /// scaled.
  at::Tensor encode(const at::Tensor& video, const nn::Scope& scope) const;

 private:
  at::Tensor encode_chunk(const at::Tensor& x, FrameCache& cache, const nn::Scope& scope) const;

  WanVaeConfig config_;
  CausalConv3d conv_in_;
  std::vector<WanDownLevel> levels_;
  WanMidBlock mid_block_;
  ChannelNorm norm_out_;
  CausalConv3d conv_out_;
  CausalConv3d quant_conv_;
};

/// latents * std + mean per channel: what the decoder takes. And the inverse, for the encoder's answer.
at::Tensor wan_unscale_latents(const at::Tensor& latents, const WanVaeConfig& config);
at::Tensor wan_scale_latents(const at::Tensor& latents, const WanVaeConfig& config);

}  // namespace tessera::models
