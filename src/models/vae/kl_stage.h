// The decode stage of the pipelines with a plain picture autoencoder: load, scale back, decode, release.
#pragma once

#include "tensor/aten.h"

#include "models/vae/kl_config.h"
#include "pipeline/context.h"
#include "pipeline/request.h"
#include "weights/pipeline_folder.h"

namespace tessera::models {

/// latents [B, C, h, w] as the denoiser leaves them → picture [B, 3, H, W], nominal range -1..1.
/// Traces vae/decode/in, vae/decode/out and the decoder's parts.
at::Tensor decode_kl_latents(const weights::PipelineFolder& folder, const KlConfig& vae, const at::Tensor& latents,
                             const pipeline::GenerateRequest& request, pipeline::Context& context);

}  // namespace tessera::models
