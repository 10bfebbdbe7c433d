// 16-bit floats on the CPU, by bits: rounding to nearest, ties to even, as the CUDA conversions do.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tessera::kernels::fused {

struct Half {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

inline float to_float(float x) {
  return x;
}

inline float to_float(Bfloat16 x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16);
}

/// The exponent is moved by a multiplication, which also makes subnormal values right.
inline float to_float(Half x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(x.bits & 0x7fffu) << 13;
  const bool special = (x.bits & 0x7c00u) == 0x7c00u;  // infinity or NaN
  const float value = std::bit_cast<float>(magnitude) * 0x1p112f;
  const uint32_t bits = special ? magnitude | 0x7f800000u : std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(sign | bits);
}

template <typename T>
T from_float(float x);

template <>
inline float from_float<float>(float x) {
  return x;
}

template <>
inline Bfloat16 from_float<Bfloat16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

template <>
inline Half from_float<Half>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const float magnitude = std::fabs(x);
  if (std::isnan(x)) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 65520.0f) return {static_cast<uint16_t>(sign | 0x7c00u)};
  if (magnitude < 0x1p-14f) {
    // Subnormal: units of 2^-24; adding and taking away 2^23 rounds to an integer, ties to even.
    const float units = magnitude * 0x1p24f + 0x1p23f - 0x1p23f;
    return {static_cast<uint16_t>(sign | static_cast<uint16_t>(units))};
  }
  const uint32_t m = std::bit_cast<uint32_t>(magnitude) - (112u << 23);
  return {static_cast<uint16_t>(sign | static_cast<uint16_t>((m + 0xfffu + ((m >> 13) & 1u)) >> 13))};
}

}  // namespace tessera::kernels::fused
