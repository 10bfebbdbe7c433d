// diffusers' ZImageTransformer2DModel: the denoiser of Z-Image.
#pragma once

#include "tensor/aten.h"

#include "models/z_image/block.h"
#include "models/z_image/config.h"
#include "models/z_image/sequence.h"

namespace tessera::models {

/// The inputs of one call; rows of the batch may have captions of different lengths.
struct ZImageInputs {
  std::vector<at::Tensor> x;          // [C, 1, h, w] each
  at::Tensor t;                       // [B] float32, 0..1: how far the picture is done
  std::vector<at::Tensor> cap_feats;  // [T_i, cap_feat_dim] each
};

class ZImageTransformer {
 public:
  ZImageTransformer(const weights::WeightMap& map, const ZImageConfig& config);

  /// Returns: one prediction [C, 1, h, w] for each row. Traces in/<argument>, the parts, and out/<row>.
  std::vector<at::Tensor> forward(const ZImageInputs& inputs, const nn::Scope& scope) const;

 private:
  at::Tensor embed_time(const at::Tensor& t, at::ScalarType dtype) const;
  ZImageSequence refine_picture(const ZImageInputs& inputs, const at::Tensor& time, const nn::Scope& scope) const;
  ZImageSequence refine_caption(const ZImageInputs& inputs, const nn::Scope& scope) const;
  at::Tensor finish(const at::Tensor& tokens, const at::Tensor& time) const;

  ZImageConfig config_;
  nn::Linear x_embedder_;
  nn::Linear time_in_;
  nn::Linear time_out_;
  nn::RmsNorm cap_norm_;
  nn::Linear cap_embedder_;
  at::Tensor x_pad_token_;    // [1, D]
  at::Tensor cap_pad_token_;  // [1, D]
  std::vector<ZImageBlock> noise_refiner_;
  std::vector<ZImageBlock> context_refiner_;
  std::vector<ZImageBlock> layers_;
  nn::Linear final_modulation_;
  nn::Linear final_linear_;
};

}  // namespace tessera::models
