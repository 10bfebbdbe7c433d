// Stands in for fused_cuda.cu in builds without CUDA.
#include "kernels/fused/fused.h"

namespace tessera::kernels::fused {

namespace {

constexpr int kNotBuilt = -1;

}  // namespace

bool has_cuda_kernels() {
  return false;
}

int qk_norm_rope_cuda(const QkNormRope&, void*) {
  return kNotBuilt;
}

int modulate_cuda(const Modulate&, void*) {
  return kNotBuilt;
}

}  // namespace tessera::kernels::fused
