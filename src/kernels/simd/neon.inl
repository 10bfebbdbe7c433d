// NEON (AArch64 Advanced SIMD) vectors for kernels/body: two 128-bit registers make one vector of 8 lanes. Included
// inside a namespace and a target region, after arm_neon.h.

#define TESSERA_INLINE [[gnu::always_inline]] inline

constexpr int kLanes = 8;
/// Rows of a register tile: 4 x 3 accumulators and 3 vector operands of two registers each and one broadcast fill 31 of
/// the 32 registers.
constexpr int kTileRows = 4;
/// Steps of a product loop between two tests of its end.
constexpr int kUnroll = 4;

struct F32 {
  float32x4_t lo, hi;
};
struct I32 {
  int32x4_t lo, hi;
};

/// Makes the compiler believe that x may have changed; costs no instruction.
TESSERA_INLINE void keep(F32& x) {
  asm volatile("" : "+w"(x.lo), "+w"(x.hi));
}
TESSERA_INLINE void keep(I32& x) {
  asm volatile("" : "+w"(x.lo), "+w"(x.hi));
}

TESSERA_INLINE F32 load(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4)};
}
TESSERA_INLINE void store(float* p, F32 x) {
  vst1q_f32(p, x.lo);
  vst1q_f32(p + 4, x.hi);
}
TESSERA_INLINE F32 splat(float x) {
  const float32x4_t v = vdupq_n_f32(x);
  return {v, v};
}
TESSERA_INLINE F32 add(F32 a, F32 b) {
  return {vaddq_f32(a.lo, b.lo), vaddq_f32(a.hi, b.hi)};
}
TESSERA_INLINE F32 sub(F32 a, F32 b) {
  return {vsubq_f32(a.lo, b.lo), vsubq_f32(a.hi, b.hi)};
}
TESSERA_INLINE F32 mul(F32 a, F32 b) {
  return {vmulq_f32(a.lo, b.lo), vmulq_f32(a.hi, b.hi)};
}
TESSERA_INLINE F32 div(F32 a, F32 b) {
  return {vdivq_f32(a.lo, b.lo), vdivq_f32(a.hi, b.hi)};
}
/// a * b + c
TESSERA_INLINE F32 fma(F32 a, F32 b, F32 c) {
  return {vfmaq_f32(c.lo, a.lo, b.lo), vfmaq_f32(c.hi, a.hi, b.hi)};
}
/// The larger one; b when either is NaN.
TESSERA_INLINE F32 max(F32 a, F32 b) {
  return {vbslq_f32(vcgtq_f32(a.lo, b.lo), a.lo, b.lo), vbslq_f32(vcgtq_f32(a.hi, b.hi), a.hi, b.hi)};
}
TESSERA_INLINE F32 abs(F32 a) {
  return {vabsq_f32(a.lo), vabsq_f32(a.hi)};
}
/// Lane by lane: test == value ? yes : no.
TESSERA_INLINE F32 select_equal(F32 test, F32 value, F32 yes, F32 no) {
  return {vbslq_f32(vceqq_f32(test.lo, value.lo), yes.lo, no.lo),
          vbslq_f32(vceqq_f32(test.hi, value.hi), yes.hi, no.hi)};
}
TESSERA_INLINE bool any_not_equal(F32 a, F32 b) {
  return vminvq_u32(vandq_u32(vceqq_f32(a.lo, b.lo), vceqq_f32(a.hi, b.hi))) == 0;
}
/// True when a lane is not below the limit; NaN counts.
TESSERA_INLINE bool any_not_below(F32 a, F32 limit) {
  return vminvq_u32(vandq_u32(vcltq_f32(a.lo, limit.lo), vcltq_f32(a.hi, limit.hi))) == 0;
}
/// The fraction above the next lower integer, in [0, 1).
TESSERA_INLINE F32 fraction(F32 x) {
  return {vsubq_f32(x.lo, vrndmq_f32(x.lo)), vsubq_f32(x.hi, vrndmq_f32(x.hi))};
}

TESSERA_INLINE float32x4_t scale_half_by_power(float32x4_t p, float32x4_t x) {
  const int32x4_t scaled = vaddq_s32(vreinterpretq_s32_f32(p), vshlq_n_s32(vcvtmq_s32_f32(x), 23));
  const uint32x4_t too_low = vcltq_f32(x, vdupq_n_f32(-126.0F));
  return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_s32(scaled), too_low));
}
/// p * 2^floor(x) for x <= 0; zero below -126, also for x = -inf whatever p is.
TESSERA_INLINE F32 scale_by_power(F32 p, F32 x) {
  return {scale_half_by_power(p.lo, x.lo), scale_half_by_power(p.hi, x.hi)};
}

template <DType T>
TESSERA_INLINE F32 load_as_f32(const std::byte* p) {
  if constexpr (T == DType::F32) return load(reinterpret_cast<const float*>(p));
  const uint16x8_t half = vreinterpretq_u16_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(p)));
  if constexpr (T == DType::F16) {
    const float16x8_t h = vreinterpretq_f16_u16(half);
    return {vcvt_f32_f16(vget_low_f16(h)), vcvt_high_f32_f16(h)};
  }
  return {vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(half), 16)),
          vreinterpretq_f32_u32(vshll_high_n_u16(half, 16))};
}

template <DType T>
constexpr int kBytes = T == DType::F32 ? 4 : 2;

/// The first `count` < kLanes elements; zeros behind them, whose memory is not touched.
template <DType T>
TESSERA_INLINE F32 load_first_as_f32(const std::byte* p, int64_t count) {
  alignas(16) std::byte whole[32] = {};
  __builtin_memcpy(whole, p, static_cast<size_t>(count * kBytes<T>));
  return load_as_f32<T>(whole);
}

/// Round to nearest even in the lower 16 bits; NaN stays NaN.
TESSERA_INLINE uint16x4_t half_to_bf16(float32x4_t x) {
  const uint32x4_t bits = vreinterpretq_u32_f32(x);
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
  const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7FFF)));
  const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
  return vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, quiet), 16);
}

template <DType T>
TESSERA_INLINE void store_from_f32(std::byte* p, F32 x) {
  if constexpr (T == DType::F32) return store(reinterpret_cast<float*>(p), x);
  uint16x8_t half;
  if constexpr (T == DType::F16) half = vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(x.lo), x.hi));
  if constexpr (T != DType::F16) half = vcombine_u16(half_to_bf16(x.lo), half_to_bf16(x.hi));
  vst1q_u8(reinterpret_cast<uint8_t*>(p), vreinterpretq_u8_u16(half));
}

template <DType T>
TESSERA_INLINE void store_first_from_f32(std::byte* p, F32 x, int64_t count) {
  alignas(16) std::byte whole[32];
  store_from_f32<T>(whole, x);
  __builtin_memcpy(p, whole, static_cast<size_t>(count * kBytes<T>));
}

/// 8 mask bytes as 0 (nonzero byte) or -inf (zero byte).
TESSERA_INLINE F32 load_bool_bias(const std::byte* p) {
  const uint8x8_t bytes = vld1_u8(reinterpret_cast<const uint8_t*>(p));
  const int16x8_t excluded = vmovl_s8(vreinterpret_s8_u8(vceqz_u8(bytes)));
  const uint32x4_t infinity = vreinterpretq_u32_f32(vdupq_n_f32(-__builtin_inff()));
  const uint32x4_t lo = vreinterpretq_u32_s32(vmovl_s16(vget_low_s16(excluded)));
  const uint32x4_t hi = vreinterpretq_u32_s32(vmovl_high_s16(excluded));
  return {vreinterpretq_f32_u32(vandq_u32(lo, infinity)), vreinterpretq_f32_u32(vandq_u32(hi, infinity))};
}

/// Rows become columns of a 4 x 4 block.
TESSERA_INLINE void transpose_block(float32x4_t& a, float32x4_t& b, float32x4_t& c, float32x4_t& d) {
  const float64x2_t ab0 = vreinterpretq_f64_f32(vtrn1q_f32(a, b)), ab1 = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
  const float64x2_t cd0 = vreinterpretq_f64_f32(vtrn1q_f32(c, d)), cd1 = vreinterpretq_f64_f32(vtrn2q_f32(c, d));
  a = vreinterpretq_f32_f64(vtrn1q_f64(ab0, cd0)), b = vreinterpretq_f32_f64(vtrn1q_f64(ab1, cd1));
  c = vreinterpretq_f32_f64(vtrn2q_f64(ab0, cd0)), d = vreinterpretq_f32_f64(vtrn2q_f64(ab1, cd1));
}
/// Rows become columns of an 8 x 8 block.
TESSERA_INLINE void transpose(F32 (&r)[8]) {
  transpose_block(r[0].lo, r[1].lo, r[2].lo, r[3].lo);
  transpose_block(r[0].hi, r[1].hi, r[2].hi, r[3].hi);
  transpose_block(r[4].lo, r[5].lo, r[6].lo, r[7].lo);
  transpose_block(r[4].hi, r[5].hi, r[6].hi, r[7].hi);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const float32x4_t upper_right = r[i].hi;
    r[i].hi = r[i + 4].lo, r[i + 4].lo = upper_right;
  }
}

/// 0, 1, 2, … as floats.
TESSERA_INLINE F32 lane_numbers() {
  return {float32x4_t{0, 1, 2, 3}, float32x4_t{4, 5, 6, 7}};
}
/// a < limit ? yes : no
TESSERA_INLINE F32 select_below(F32 a, F32 limit, F32 yes, F32 no) {
  return {vbslq_f32(vcltq_f32(a.lo, limit.lo), yes.lo, no.lo), vbslq_f32(vcltq_f32(a.hi, limit.hi), yes.hi, no.hi)};
}
/// a < limit ? -inf : other
TESSERA_INLINE F32 exclude_below(F32 a, F32 limit, F32 other) {
  return select_below(a, limit, splat(-__builtin_inff()), other);
}
