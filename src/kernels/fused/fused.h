// Pieces around attention in one pass over memory: query/key norm with rotary embedding, and adaptive layer norm.
// Included by .cu files, so C++17 and plain data only.
#pragma once

#include <cstdint>

namespace tessera::kernels::fused {

enum class Element { F32, F16, BF16 };

/// out = rotate(x / sqrt(mean(x^2) + eps) * weight), the mean over one head; channel pairs (2i, 2i + 1) are turned.
/// All arithmetic is float32; a 16-bit result is rounded once. in and out may be the same memory.
struct QkNormRope {
  const void* in = nullptr;         // [B, S, H, D], last stride 1, D even
  void* out = nullptr;              // [B, S, H, D], last stride 1
  const void* weight = nullptr;     // [D], of the same type
  const float* rotation = nullptr;  // [S, D/2, 2]: cosine and sine
  int64_t batch = 0, seq = 0, heads = 0, dim = 0;
  int64_t in_strides[3] = {};  ///< of batch, sequence, head, in elements
  int64_t out_strides[3] = {};
  float eps = 0;
  Element element = Element::F32;
};

/// out = layer_norm(x, eps) * (1 + scale) + shift, one scale and shift per batch row.
struct Modulate {
  const void* in = nullptr;     // [B, S, D] dense, D even
  void* out = nullptr;          // [B, S, D] dense; may be `in`
  const void* scale = nullptr;  // [B, D] dense
  const void* shift = nullptr;  // [B, D] dense
  int64_t batch = 0, seq = 0, dim = 0;
  float eps = 0;
  Element element = Element::F32;
};

/// The CPU twins: the same operations in the same order as the CUDA kernels, so float32 results are equal bit for bit.
void qk_norm_rope_cpu(const QkNormRope& args);
void modulate_cpu(const Modulate& args);

/// Whether this build has the CUDA kernels.
bool has_cuda_kernels();

/// Queue the kernels on a stream (cudaStream_t). Return cudaGetLastError() as a number, 0 = good; -1 in builds without.
int qk_norm_rope_cuda(const QkNormRope& args, void* stream);
int modulate_cuda(const Modulate& args, void* stream);

}  // namespace tessera::kernels::fused
