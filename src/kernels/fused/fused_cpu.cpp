// CPU twins of the fused kernels: what the CUDA kernels are compared with, and the fused path without a GPU.
#include "kernels/fused/fused.h"

#include <array>
#include <bit>
#include <cstring>

#include "kernels/fused/half.h"
#include "kernels/fused/row_math.h"

namespace tessera::kernels::fused {

namespace {

/// The lanes' sums as a warp adds them: every lane with the one 16, 8, 4, 2, 1 away.
template <typename Load, typename F>
float row_sum(int64_t pairs, Load load, F f) {
  std::array<float, kLanes> lanes{};
  for (int lane = 0; lane < kLanes; ++lane) lanes[static_cast<size_t>(lane)] = lane_sum(lane, pairs, load, f);
  for (size_t away = kLanes / 2; away > 0; away /= 2) {
    for (size_t lane = 0; lane < away; ++lane) lanes[lane] = add(lanes[lane], lanes[lane + away]);
  }
  return lanes[0];
}

template <typename T>
struct Row {
  const T* data;
  Pair operator()(int64_t p) const { return {to_float(data[2 * p]), to_float(data[2 * p + 1])}; }
};

template <typename T>
void store(T* out, int64_t p, Pair value) {
  out[2 * p] = from_float<T>(value.first);
  out[2 * p + 1] = from_float<T>(value.second);
}

template <typename T>
void qk_row(const QkNormRope& a, int64_t b, int64_t s, int64_t h) {
  const int64_t pairs = a.dim / 2;
  const Row<T> x{static_cast<const T*>(a.in) + b * a.in_strides[0] + s * a.in_strides[1] + h * a.in_strides[2]};
  const Row<T> weight{static_cast<const T*>(a.weight)};
  const Row<float> turn{a.rotation + s * a.dim};
  T* out = static_cast<T*>(a.out) + b * a.out_strides[0] + s * a.out_strides[1] + h * a.out_strides[2];
  const float scale = rms_scale(row_sum(pairs, x, [](float v) { return mul(v, v); }), a.dim, a.eps);
  for (int64_t p = 0; p < pairs; ++p) store(out, p, rotated(rms_normed(x(p), scale, weight(p)), turn(p)));
}

template <typename T>
void qk_all(const QkNormRope& a) {
  for (int64_t row = 0; row < a.batch * a.seq * a.heads; ++row) {
    qk_row<T>(a, row / (a.seq * a.heads), row / a.heads % a.seq, row % a.heads);
  }
}

template <typename T>
void modulate_row(const Modulate& a, int64_t b, int64_t s) {
  const int64_t pairs = a.dim / 2;
  const Row<T> x{static_cast<const T*>(a.in) + (b * a.seq + s) * a.dim};
  const Row<T> scale{static_cast<const T*>(a.scale) + b * a.dim}, shift{static_cast<const T*>(a.shift) + b * a.dim};
  T* out = static_cast<T*>(a.out) + (b * a.seq + s) * a.dim;
  const float mean = divide(row_sum(pairs, x, [](float v) { return v; }), static_cast<float>(a.dim));
  const auto squared = [mean](float v) { return mul(add(v, -mean), add(v, -mean)); };
  const float norm = rms_scale(row_sum(pairs, x, squared), a.dim, a.eps);
  for (int64_t p = 0; p < pairs; ++p) {
    const Pair v = x(p), k = scale(p), d = shift(p);
    store(out, p,
          {modulated(layer_normed(v.first, mean, norm), k.first, d.first),
           modulated(layer_normed(v.second, mean, norm), k.second, d.second)});
  }
}

template <typename T>
void modulate_all(const Modulate& a) {
  for (int64_t row = 0; row < a.batch * a.seq; ++row) modulate_row<T>(a, row / a.seq, row % a.seq);
}

}  // namespace

void qk_norm_rope_cpu(const QkNormRope& args) {
  if (args.element == Element::F32) return qk_all<float>(args);
  if (args.element == Element::F16) return qk_all<Half>(args);
  qk_all<Bfloat16>(args);
}

void modulate_cpu(const Modulate& args) {
  if (args.element == Element::F32) return modulate_all<float>(args);
  if (args.element == Element::F16) return modulate_all<Half>(args);
  modulate_all<Bfloat16>(args);
}

}  // namespace tessera::kernels::fused
