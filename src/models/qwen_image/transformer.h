// diffusers' QwenImageTransformer2DModel: the denoiser of Qwen-Image.
#pragma once

#include "tensor/aten.h"

#include "models/flux/blocks.h"
#include "models/qwen_image/config.h"
#include "nn/timestep_embedding.h"

namespace tessera::models {

/// The inputs of one call, under the reference's names.
struct QwenImageInputs {
  at::Tensor hidden_states;          // [B, rows * columns, in_channels] packed latents
  at::Tensor encoder_hidden_states;  // [B, T, J]
  at::Tensor timestep;               // [B] float32, 0..1
  int64_t rows = 0;                  ///< of the picture, in packed tokens
  int64_t columns = 0;
};

class QwenImageTransformer {
 public:
  QwenImageTransformer(const weights::WeightMap& map, const QwenImageConfig& config);

  /// Returns: the predicted velocity [B, rows * columns, in_channels].
  /// Traces in/<argument>, the output of every direct sub-module, and out.
  at::Tensor forward(const QwenImageInputs& inputs, const nn::Scope& scope) const;

 private:
  at::Tensor embed_time(const at::Tensor& timestep, at::ScalarType dtype) const;
  at::Tensor run_blocks(at::Tensor text, at::Tensor image, const FluxConditioning& conditioning,
                        const nn::Scope& scope) const;

  QwenImageConfig config_;
  nn::TimestepEmbedding timestep_embedder_;
  nn::RmsNorm txt_norm_;
  nn::Linear txt_in_;
  nn::Linear img_in_;
  std::vector<FluxDoubleBlock> blocks_;
  nn::Linear norm_out_;  // D → 2 D
  nn::Linear proj_out_;
};

/// Positions of the picture's tokens, (0, row, column) with the picture's middle at 0: [rows * columns, 3] float32.
at::Tensor centred_image_ids(int64_t rows, int64_t columns);

/// Positions of the text's tokens, on the diagonal behind the picture's border: [tokens, 3] float32.
at::Tensor diagonal_text_ids(int64_t rows, int64_t columns, int64_t tokens);

}  // namespace tessera::models
