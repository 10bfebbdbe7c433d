// The CUDA kernels: one warp per row, so that sums need no shared memory and have the order of row_math.h.
#include "kernels/fused/fused.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels/fused/row_math.h"

namespace tessera::kernels::fused {

namespace {

constexpr int kWarpsPerBlock = 8;

__device__ inline float widen(float x) {
  return x;
}
__device__ inline float widen(__half x) {
  return __half2float(x);
}
__device__ inline float widen(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <typename T>
__device__ inline T narrow(float x);
template <>
__device__ inline float narrow<float>(float x) {
  return x;
}
template <>
__device__ inline __half narrow<__half>(float x) {
  return __float2half_rn(x);
}
template <>
__device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

template <typename T>
struct Row {
  const T* data;
  __device__ Pair operator()(int64_t p) const { return {widen(data[2 * p]), widen(data[2 * p + 1])}; }
};

struct Square {
  __device__ float operator()(float v) const { return mul(v, v); }
};
struct Same {
  __device__ float operator()(float v) const { return v; }
};
struct SquareFrom {
  float mean;
  __device__ float operator()(float v) const { return mul(add(v, -mean), add(v, -mean)); }
};

template <typename Load, typename F>
__device__ float row_sum(int lane, int64_t pairs, Load load, F f) {
  float sum = lane_sum(lane, pairs, load, f);
  for (int away = kLanes / 2; away > 0; away /= 2) sum = add(sum, __shfl_xor_sync(0xffffffffu, sum, away));
  return sum;
}

template <typename T>
__device__ void store(T* out, int64_t p, Pair value) {
  out[2 * p] = narrow<T>(value.first);
  out[2 * p + 1] = narrow<T>(value.second);
}

/// The row of this warp, or -1 beyond the last one.
__device__ int64_t warp_row(int64_t rows) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.x / kLanes;
  return row < rows ? row : -1;
}

template <typename T>
__global__ void qk_norm_rope_kernel(QkNormRope a) {
  const int64_t row = warp_row(a.batch * a.seq * a.heads);
  if (row < 0) return;
  const int lane = threadIdx.x % kLanes;
  const int64_t b = row / (a.seq * a.heads), s = row / a.heads % a.seq, h = row % a.heads, pairs = a.dim / 2;
  const Row<T> x{static_cast<const T*>(a.in) + b * a.in_strides[0] + s * a.in_strides[1] + h * a.in_strides[2]};
  const Row<T> weight{static_cast<const T*>(a.weight)};
  const Row<float> turn{a.rotation + s * a.dim};
  T* out = static_cast<T*>(a.out) + b * a.out_strides[0] + s * a.out_strides[1] + h * a.out_strides[2];
  const float scale = rms_scale(row_sum(lane, pairs, x, Square{}), a.dim, a.eps);
  for (int64_t p = lane; p < pairs; p += kLanes) store(out, p, rotated(rms_normed(x(p), scale, weight(p)), turn(p)));
}

template <typename T>
__global__ void modulate_kernel(Modulate a) {
  const int64_t row = warp_row(a.batch * a.seq);
  if (row < 0) return;
  const int lane = threadIdx.x % kLanes;
  const int64_t b = row / a.seq, pairs = a.dim / 2;
  const Row<T> x{static_cast<const T*>(a.in) + row * a.dim};
  const Row<T> scale{static_cast<const T*>(a.scale) + b * a.dim}, shift{static_cast<const T*>(a.shift) + b * a.dim};
  T* out = static_cast<T*>(a.out) + row * a.dim;
  const float mean = divide(row_sum(lane, pairs, x, Same{}), static_cast<float>(a.dim));
  const float norm = rms_scale(row_sum(lane, pairs, x, SquareFrom{mean}), a.dim, a.eps);
  for (int64_t p = lane; p < pairs; p += kLanes) {
    const Pair v = x(p), k = scale(p), d = shift(p);
    store(out, p,
          {modulated(layer_normed(v.first, mean, norm), k.first, d.first),
           modulated(layer_normed(v.second, mean, norm), k.second, d.second)});
  }
}

struct Launch {
  dim3 grid, block;
  cudaStream_t stream;
};

Launch launch_for(int64_t rows, void* stream) {
  const auto blocks = static_cast<unsigned>((rows + kWarpsPerBlock - 1) / kWarpsPerBlock);
  return {dim3(blocks), dim3(kWarpsPerBlock * kLanes), static_cast<cudaStream_t>(stream)};
}

}  // namespace

bool has_cuda_kernels() {
  return true;
}

int qk_norm_rope_cuda(const QkNormRope& a, void* stream) {
  const int64_t rows = a.batch * a.seq * a.heads;
  if (rows == 0) return 0;
  const Launch l = launch_for(rows, stream);
  if (a.element == Element::F32) qk_norm_rope_kernel<float><<<l.grid, l.block, 0, l.stream>>>(a);
  if (a.element == Element::F16) qk_norm_rope_kernel<__half><<<l.grid, l.block, 0, l.stream>>>(a);
  if (a.element == Element::BF16) qk_norm_rope_kernel<__nv_bfloat16><<<l.grid, l.block, 0, l.stream>>>(a);
  return static_cast<int>(cudaGetLastError());
}

int modulate_cuda(const Modulate& a, void* stream) {
  const int64_t rows = a.batch * a.seq;
  if (rows == 0) return 0;
  const Launch l = launch_for(rows, stream);
  if (a.element == Element::F32) modulate_kernel<float><<<l.grid, l.block, 0, l.stream>>>(a);
  if (a.element == Element::F16) modulate_kernel<__half><<<l.grid, l.block, 0, l.stream>>>(a);
  if (a.element == Element::BF16) modulate_kernel<__nv_bfloat16><<<l.grid, l.block, 0, l.stream>>>(a);
  return static_cast<int>(cudaGetLastError());
}

}  // namespace tessera::kernels::fused
