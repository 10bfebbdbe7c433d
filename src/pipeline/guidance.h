// How the predictions for the prompt and for the negative prompt are put together.
#pragma once

#include "tensor/aten.h"

namespace tessera::pipeline {

/// uncond + scale * (cond - uncond): classifier-free guidance as diffusers writes it. Any shape.
at::Tensor classifier_free_guidance(const at::Tensor& cond, const at::Tensor& uncond, double scale);

/// `guided` with the length of `cond`, vector by vector over the last dimension (guidance "normalised").
at::Tensor rescale_to_norm_of(const at::Tensor& guided, const at::Tensor& cond);

}  // namespace tessera::pipeline
