#include "pipeline/denoise.h"

#include "base/strings.h"
#include "pipeline/stage.h"

namespace tessera::pipeline {

at::Tensor denoise(at::Tensor latents, const DenoiseLoop& loop, Context& context) {
  const int64_t steps = loop.scheduler.timesteps().size(0);
  context.record("sigmas", loop.scheduler.sigmas());
  context.record("timesteps", loop.scheduler.timesteps());
  if (context.progress != nullptr) context.progress->begin("denoise", steps);
  for (int64_t step = 0; step < steps; ++step) {
    context.check_cancelled();
    const Stopwatch watch;
    const at::Tensor prediction = loop.predict(latents, step);
    latents = loop.scheduler.step(prediction, step, latents);
    context.timings.denoise.push_back(watch.seconds());
    if (context.trace != nullptr) {
      context.record(strings::join("step", step, "/model_output"), prediction);
      context.record(strings::join("step", step, "/latents"), latents);
    }
    if (context.progress == nullptr) continue;
    context.progress->advance("denoise", step + 1);
    context.progress->after_step(step, [&] { return loop.preview(latents); });
  }
  return latents;
}

}  // namespace tessera::pipeline
