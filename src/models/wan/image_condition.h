// What a given first frame becomes: latents that the denoiser keeps, and the mask of what is still open.
#pragma once

#include "tensor/aten.h"

#include "models/wan/pipeline_config.h"
#include "pipeline/context.h"

namespace tessera::models {

/// The given frame of image-to-video. With per-token timesteps it replaces the first latent frame; otherwise it is
/// given to the model beside the latents.
struct WanCondition {
  at::Tensor latents;  // TI2V: [1, z, 1, h, w]; otherwise [1, 4 + z, f, h, w], the mask of known frames in front
  at::Tensor open;     // TI2V: [1, 1, f, h, w] float32, 0 in the given frame; otherwise undefined

  /// What the transformer sees of the present latents [1, z, f, h, w].
  at::Tensor model_input(const at::Tensor& present) const;
  /// The latents with the given frame in its place.
  at::Tensor restored(const at::Tensor& present) const;
};

/// The image [H, W, 3] uint8 at the request's size, in -1..1: [1, 3, 1, height, width] float32. Resized as diffusers'
/// video processor does it, with a warning when its proportions change by more than 1 %.
at::Tensor wan_input_frame(const at::Tensor& image, int64_t height, int64_t width);

/// Encodes the request's image. Traces vae/encode/in, vae/encode/mode, latents/condition, latents/first_frame_mask.
/// Errors: throws RuntimeFault{Usage} when the request has no image.
WanCondition encode_wan_condition(const pipeline::GenerateRequest& request, const WanConfigs& configs,
                                  const weights::PipelineFolder& folder, pipeline::Context& context);

}  // namespace tessera::models
