// The denoise loop that all pipelines share.
#pragma once

#include "tensor/aten.h"

#include "pipeline/context.h"
#include "schedulers/scheduler.h"

namespace tessera::pipeline {

/// What a model adds to the loop.
struct DenoiseLoop {
  schedulers::Scheduler& scheduler;
  /// The prediction for the present latents, after guidance: one or two model calls.
  std::function<at::Tensor(const at::Tensor& latents, int64_t step)> predict;
  /// The picture of the present latents, [F, H, W, 3] uint8, for previews.
  std::function<at::Tensor(const at::Tensor& latents)> preview;
};

/// Walks the schedule: asks for cancelling before each step, reports progress, notes each step's seconds.
/// Traces sigmas, timesteps, and step<k>/model_output and step<k>/latents.
/// Returns: the latents after the last step, in the shape and dtype of the first ones.
at::Tensor denoise(at::Tensor latents, const DenoiseLoop& loop, Context& context);

}  // namespace tessera::pipeline
