// diffusers' FluxTransformer2DModel: the denoiser of FLUX.1.
#pragma once

#include "tensor/aten.h"

#include "models/flux/blocks.h"
#include "models/flux/config.h"
#include "nn/timestep_embedding.h"

namespace tessera::models {

/// The inputs of one call, under the reference's names.
struct FluxInputs {
  at::Tensor hidden_states;            // [B, S, in_channels] packed latents
  at::Tensor timestep;                 // [B] float32, 0..1
  std::optional<at::Tensor> guidance;  // [B] float32; present exactly where the config has guidance_embeds
  at::Tensor pooled_projections;       // [B, P]
  at::Tensor encoder_hidden_states;    // [B, T, J]
  at::Tensor txt_ids;                  // [T, 3]
  at::Tensor img_ids;                  // [S, 3]
};

class FluxTransformer {
 public:
  FluxTransformer(const weights::WeightMap& map, const FluxConfig& config);

  /// Returns: the predicted velocity [B, S, out_channels].
  /// Traces in/<argument>, the output of every direct sub-module, and out.
  at::Tensor forward(const FluxInputs& inputs, const nn::Scope& scope) const;

 private:
  at::Tensor embed_time(const FluxInputs& inputs, at::ScalarType dtype) const;
  at::Tensor run_blocks(at::Tensor text, at::Tensor image, const FluxConditioning& conditioning,
                        const nn::Scope& scope) const;

  FluxConfig config_;
  nn::TimestepEmbedding timestep_embedder_;
  std::optional<nn::TimestepEmbedding> guidance_embedder_;
  nn::TimestepEmbedding text_embedder_;
  nn::Linear context_embedder_;
  nn::Linear x_embedder_;
  std::vector<FluxDoubleBlock> double_blocks_;
  std::vector<FluxSingleBlock> single_blocks_;
  nn::Linear norm_out_;  // D → 2 D
  nn::Linear proj_out_;
};

}  // namespace tessera::models
