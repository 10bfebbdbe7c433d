// Device, arithmetic and threads from their names in flags.
#pragma once

#include "tensor/aten.h"

#include "base/result.h"

namespace tessera::runtime {

/// "auto" (the GPU when this build and machine have one, else the CPU), "cpu", "cuda", "cuda:1".
/// Errors: Usage for another text, Unavailable when there is no such device.
Result<at::Device> parse_device(const std::string& text);

/// "auto", "fp32", "bf16", "fp16". Auto is bf16 on a GPU and fp32 on a CPU: LibTorch's bf16 GEMM runs at 0.6 of its
/// fp32 speed on two AVX-512 cores (docs/performance.md).
/// Errors: Usage.
Result<at::ScalarType> parse_arithmetic(const std::string& text, const at::Device& device);

/// Sets LibTorch's threads; 0 leaves its own choice (all cores).
void set_threads(int threads);

}  // namespace tessera::runtime
