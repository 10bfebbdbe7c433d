#include "models/z_image/guidance.h"

namespace tessera::models {

double z_image_guidance_scale(const pipeline::GenerateRequest& request, double progress) {
  const double truncation = *request.cfg_truncation;
  return truncation <= 1 && progress > truncation ? 0 : *request.guidance_scale;
}

at::Tensor z_image_guidance(const at::Tensor& cond, const at::Tensor& uncond, double scale, bool normalise) {
  const at::Tensor guided = cond + (cond - uncond) * scale;
  if (!normalise) return guided;
  const double limit = cond.norm().item<double>();
  const double length = guided.norm().item<double>();
  return length > limit ? guided * (limit / length) : guided;
}

}  // namespace tessera::models
