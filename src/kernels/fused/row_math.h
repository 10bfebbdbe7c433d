// The arithmetic of one row, written once for the CPU twins and the CUDA kernels. A row is summed by 32 lanes, lane l
// taking the channel pairs l, l + 32, …, and the lanes by a tree of exchanges: the order of a CUDA warp.
#pragma once

#include <cmath>
#include <cstdint>

#if defined(__CUDACC__)
#define TESSERA_ROW_FN __host__ __device__ inline
#else
#define TESSERA_ROW_FN inline
#endif

namespace tessera::kernels::fused {

constexpr int kLanes = 32;

// Rounded after each operation: a compiler that joins them into fused multiply-adds gives other last bits.
#if defined(__CUDA_ARCH__)
TESSERA_ROW_FN float mul(float a, float b) {
  return __fmul_rn(a, b);
}
TESSERA_ROW_FN float add(float a, float b) {
  return __fadd_rn(a, b);
}
TESSERA_ROW_FN float inverse_root(float x) {
  return __fdiv_rn(1.0f, __fsqrt_rn(x));
}
TESSERA_ROW_FN float divide(float a, float b) {
  return __fdiv_rn(a, b);
}
#else
TESSERA_ROW_FN float mul(float a, float b) {
  return a * b;
}
TESSERA_ROW_FN float add(float a, float b) {
  return a + b;
}
TESSERA_ROW_FN float inverse_root(float x) {
  return 1.0f / std::sqrt(x);
}
TESSERA_ROW_FN float divide(float a, float b) {
  return a / b;
}
#endif

struct Pair {
  float first, second;
};

/// What lane `lane` adds up of f(x) over its channel pairs. `load(p)` gives the pair p, f is applied to each channel.
template <typename Load, typename F>
TESSERA_ROW_FN float lane_sum(int lane, int64_t pairs, Load load, F f) {
  float sum = 0;
  for (int64_t p = lane; p < pairs; p += kLanes) {
    const Pair x = load(p);
    sum = add(add(sum, f(x.first)), f(x.second));
  }
  return sum;
}

TESSERA_ROW_FN float rms_scale(float sum_of_squares, int64_t dim, float eps) {
  return inverse_root(add(divide(sum_of_squares, static_cast<float>(dim)), eps));
}

TESSERA_ROW_FN Pair rms_normed(Pair x, float scale, Pair weight) {
  return {mul(mul(x.first, scale), weight.first), mul(mul(x.second, scale), weight.second)};
}

/// (first + i second) * (cos + i sin).
TESSERA_ROW_FN Pair rotated(Pair x, Pair turn) {
  return {add(mul(x.first, turn.first), -mul(x.second, turn.second)),
          add(mul(x.first, turn.second), mul(x.second, turn.first))};
}

TESSERA_ROW_FN float layer_normed(float x, float mean, float scale) {
  return mul(add(x, -mean), scale);
}

TESSERA_ROW_FN float modulated(float normed, float scale, float shift) {
  return add(mul(normed, add(1.0f, scale)), shift);
}

}  // namespace tessera::kernels::fused
