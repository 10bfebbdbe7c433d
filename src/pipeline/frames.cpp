#include "pipeline/frames.h"

namespace tessera::pipeline {

at::Tensor to_frames(const at::Tensor& x) {
  const at::Tensor unit = (x * 0.5 + 0.5).clamp(0, 1).permute({0, 2, 3, 1}).to(at::kFloat);
  return (unit * 255).round().to(at::kByte).cpu().contiguous();
}

}  // namespace tessera::pipeline
