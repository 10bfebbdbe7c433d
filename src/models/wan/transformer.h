// diffusers' WanTransformer3DModel: the denoiser of Wan 2.1 and 2.2.
#pragma once

#include "tensor/aten.h"

#include "models/wan/blocks.h"
#include "models/wan/config.h"
#include "nn/timestep_embedding.h"

namespace tessera::models {

/// The inputs of one call, under the reference's names. The batch is one video.
struct WanInputs {
  at::Tensor hidden_states;          // [1, C, F, H, W] latents
  at::Tensor timestep;               // [1], or [1, S] with one timestep per patch (TI2V)
  at::Tensor encoder_hidden_states;  // [1, T, text_dim]
};

class WanTransformer {
 public:
  WanTransformer(const weights::WeightMap& map, const WanConfig& config);

  /// Returns: the predicted velocity [1, out_channels, F, H, W].
  /// Traces in/<argument>, the output of every direct sub-module, and out.
  at::Tensor forward(const WanInputs& inputs, const nn::Scope& scope) const;

  const WanConfig& config() const { return config_; }

 private:
  WanTime embed_time(const at::Tensor& timestep, at::ScalarType dtype) const;
  WanConditioning condition(const WanInputs& inputs, const nn::Scope& scope) const;
  at::Tensor unpatch(const at::Tensor& tokens, const WanInputs& inputs) const;

  WanConfig config_;
  at::Tensor patch_weight_;  // [D, C, pt, ph, pw]
  at::Tensor patch_bias_;    // [D]
  nn::TimestepEmbedding time_embedder_;
  nn::Linear time_proj_;  // D → 6 D
  nn::Linear text_1_;
  nn::Linear text_2_;
  std::vector<WanBlock> blocks_;
  nn::Linear proj_out_;
  at::Tensor table_;  // [1, 2, D]
};

}  // namespace tessera::models
