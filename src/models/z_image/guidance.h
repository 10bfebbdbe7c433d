// Z-Image's guidance: when it applies, and how long the guided prediction may be.
#pragma once

#include "tensor/aten.h"

#include "pipeline/request.h"

namespace tessera::models {

/// The scale at a step: 0 (one model call, no guidance) once `progress`, 0 at the first step and 1 at the end, is
/// beyond cfg_truncation. A truncation above 1 never applies.
double z_image_guidance_scale(const pipeline::GenerateRequest& request, double progress);

/// cond + scale * (cond - uncond); with `normalise` never longer than cond, over the whole tensor.
at::Tensor z_image_guidance(const at::Tensor& cond, const at::Tensor& uncond, double scale, bool normalise);

}  // namespace tessera::models
