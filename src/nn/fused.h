// The fused CUDA kernels for the layers that have one: which tensors they take, and their calls.
#pragma once

#include "tensor/aten.h"

#include "kernels/fused/fused.h"

namespace tessera::nn {

/// The kernels of one kind of device. Tests put the CPU twins here.
struct FusedKernels {
  int (*modulate)(const kernels::fused::Modulate& args, void* stream) = nullptr;
  int (*qk_norm_rope)(const kernels::fused::QkNormRope& args, void* stream) = nullptr;
};

/// Those for a device; nullptr where there are none: CPUs, and builds without CUDA.
const FusedKernels* fused_kernels(at::Device device);

/// layer_norm(x) * (1 + scale) + shift in one pass, or nothing when the kernel does not take these tensors.
/// Shapes: x [B, S, D]; scale, shift [B, D] → [B, S, D].
/// Errors: throws RuntimeFault{DeviceFault} when the launch fails.
std::optional<at::Tensor> fused_modulate(const FusedKernels& kernels, const at::Tensor& x, const at::Tensor& scale,
                                         const at::Tensor& shift, double eps);

/// rms_norm(x) over each head, then the channel pairs (2i, 2i + 1) turned, in one pass; or nothing as above.
/// Shapes: x [B, S, H, D]; weight [D]; rotation [S, D/2] complex64 → [B, S, H, D] dense. Errors: as above.
std::optional<at::Tensor> fused_norm_rotary(const FusedKernels& kernels, const at::Tensor& x, const at::Tensor& weight,
                                            const at::Tensor& rotation, double eps);

}  // namespace tessera::nn
