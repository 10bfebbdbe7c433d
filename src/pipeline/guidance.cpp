#include "pipeline/guidance.h"

namespace tessera::pipeline {

at::Tensor classifier_free_guidance(const at::Tensor& cond, const at::Tensor& uncond, double scale) {
  return uncond + (cond - uncond) * scale;
}

at::Tensor rescale_to_norm_of(const at::Tensor& guided, const at::Tensor& cond) {
  const std::array<int64_t, 1> last = {-1};
  return guided * (cond.norm(2, last, /*keepdim=*/true) / guided.norm(2, last, /*keepdim=*/true));
}

}  // namespace tessera::pipeline
