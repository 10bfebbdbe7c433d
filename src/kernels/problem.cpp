#include "kernels/problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tessera::kernels {
namespace {

float half_to_float(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000U) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(h & 0x7FFFU) << 13;
  if (magnitude >= 0x7C00U << 13) return std::bit_cast<float>(sign | 0x7F800000U | magnitude);
  // 2^112 moves the exponent bias from 15 to 127 and makes halves' subnormals right too.
  const float value = std::bit_cast<float>(magnitude) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<uint16_t>(sign | 0x7E00U | ((magnitude >> 13) & 0x1FFU));
  if (magnitude >= 0x477FF000U) return static_cast<uint16_t>(sign | 0x7C00U);  // 65520 and above round to infinity
  if (magnitude < 0x38800000U) {                                               // below 2^-14: a subnormal half
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;              // the sum's ulp is 2^-24, so it rounds
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000U));
  }
  const uint32_t rounded = magnitude + 0xFFFU + ((magnitude >> 13) & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

uint16_t float_to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<uint16_t>((bits >> 16) | 0x40U);
  return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

template <typename T>
T load_raw(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store_raw(std::byte* data, int64_t index, T value) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

const std::byte* move(const void* data, int64_t elements, DType dtype) {
  return static_cast<const std::byte*>(data) + elements * size_bytes(dtype);
}

int64_t longest_of(const int64_t* cumulative, int64_t batch) {
  int64_t longest = 0;
  for (int64_t b = 0; b < batch; ++b) longest = std::max(longest, cumulative[b + 1] - cumulative[b]);
  return longest;
}

}  // namespace

float load_element(const std::byte* data, DType dtype, int64_t index) {
  if (dtype == DType::F32) return load_raw<float>(data, index);
  const auto bits = load_raw<uint16_t>(data, index);
  return dtype == DType::F16 ? half_to_float(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

void store_element(std::byte* data, DType dtype, int64_t index, float value) {
  if (dtype == DType::F32) return store_raw(data, index, value);
  store_raw(data, index, dtype == DType::F16 ? float_to_half(value) : float_to_bfloat(value));
}

float mask_value(const HeadProblem& p, int64_t g, int64_t i, int64_t k) {
  const MaskView& m = p.args->mask;
  const int64_t index = g * m.stride_h + i * m.stride_q + k * m.stride_k;
  if (m.kind == MaskKind::Additive) return load_element(p.mask, m.dtype, index);
  return load_raw<uint8_t>(p.mask, index) != 0 ? 0.0F : -std::numeric_limits<float>::infinity();
}

int64_t longest_query(const AttentionArgs& args) {
  return args.cu_seqlens_q == nullptr ? args.seq_q : longest_of(args.cu_seqlens_q, args.batch);
}

int64_t longest_keys(const AttentionArgs& args) {
  return args.cu_seqlens_k == nullptr ? args.seq_kv : longest_of(args.cu_seqlens_k, args.batch);
}

HeadProblem head_problem(const AttentionArgs& a, int64_t b, int64_t head) {
  const bool packed = a.cu_seqlens_q != nullptr;
  const int64_t q0 = packed ? a.cu_seqlens_q[b] : 0;
  const int64_t k0 = packed ? a.cu_seqlens_k[b] : 0;
  const int64_t batch = packed ? 0 : b;
  const int64_t seq_kv = packed ? a.cu_seqlens_k[b + 1] - k0 : a.seq_kv;
  HeadProblem p;
  p.args = &a;
  p.groups = a.heads_q / a.heads_kv;
  const int64_t head_q = head * p.groups;
  p.seq_q = packed ? a.cu_seqlens_q[b + 1] - q0 : a.seq_q;
  p.keys = a.key_lengths != nullptr && a.key_lengths[b] < seq_kv ? a.key_lengths[b] : seq_kv;
  p.causal_shift = a.causal == Causal::BottomRight ? seq_kv - p.seq_q : 0;
  p.q = move(a.q.data, batch * a.q.stride_b + q0 * a.q.stride_s + head_q * a.q.stride_h, a.dtype);
  p.k = move(a.k.data, batch * a.k.stride_b + k0 * a.k.stride_s + head * a.k.stride_h, a.dtype);
  p.v = move(a.v.data, batch * a.v.stride_b + k0 * a.v.stride_s + head * a.v.stride_h, a.dtype);
  const int64_t out_at = batch * a.out.stride_b + q0 * a.out.stride_s + head_q * a.out.stride_h;
  p.out = static_cast<std::byte*>(a.out.data) + out_at * size_bytes(a.dtype);
  if (a.mask.kind != MaskKind::None) {
    const DType dtype = a.mask.kind == MaskKind::Bool ? DType::Bool : a.mask.dtype;
    p.mask = move(a.mask.data, b * a.mask.stride_b + head_q * a.mask.stride_h, dtype);
  }
  p.lse_stride_h = packed ? a.cu_seqlens_q[a.batch] : a.lse_stride_h;
  if (a.lse != nullptr) p.lse = a.lse + batch * a.lse_stride_b + head_q * p.lse_stride_h + q0;
  return p;
}

}  // namespace tessera::kernels
