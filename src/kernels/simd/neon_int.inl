// Integer vectors of the NEON wrapper, for tier Fast. Included after neon.inl.

TESSERA_INLINE I32 load_int(const void* p) {
  const auto* at = static_cast<const uint8_t*>(p);
  return {vreinterpretq_s32_u8(vld1q_u8(at)), vreinterpretq_s32_u8(vld1q_u8(at + 16))};
}
TESSERA_INLINE void store_int(void* p, I32 x) {
  auto* at = static_cast<uint8_t*>(p);
  vst1q_u8(at, vreinterpretq_u8_s32(x.lo));
  vst1q_u8(at + 16, vreinterpretq_u8_s32(x.hi));
}
TESSERA_INLINE I32 splat_int(int32_t x) {
  const int32x4_t v = vdupq_n_s32(x);
  return {v, v};
}
TESSERA_INLINE I32 add_int(I32 a, I32 b) {
  return {vaddq_s32(a.lo, b.lo), vaddq_s32(a.hi, b.hi)};
}
/// Rounds to nearest, ties to even.
TESSERA_INLINE I32 to_int(F32 x) {
  return {vcvtnq_s32_f32(x.lo), vcvtnq_s32_f32(x.hi)};
}
TESSERA_INLINE F32 to_float(I32 x) {
  return {vcvtq_f32_s32(x.lo), vcvtq_f32_s32(x.hi)};
}
/// Lane by lane the larger of acc >= 0 and |x|, by bits: infinities and NaN stay once they are met.
TESSERA_INLINE F32 max_magnitude(F32 acc, F32 x) {
  const auto larger = [](float32x4_t a, float32x4_t b) __attribute__((always_inline)) {
    return vreinterpretq_f32_s32(vmaxq_s32(vreinterpretq_s32_f32(a), vreinterpretq_s32_f32(vabsq_f32(b))));
  };
  return {larger(acc.lo, x.lo), larger(acc.hi, x.hi)};
}
TESSERA_INLINE float reduce_max_magnitude(F32 x) {
  const int32x4_t larger = vmaxq_s32(vreinterpretq_s32_f32(x.lo), vreinterpretq_s32_f32(x.hi));
  return __builtin_bit_cast(float, vmaxvq_s32(larger));
}
TESSERA_INLINE int32_t reduce_add(I32 x) {
  return vaddvq_s32(vaddq_s32(x.lo, x.hi));
}

TESSERA_INLINE int32x4_t shift_or(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  const int32x4_t low = vorrq_s32(a, vshlq_n_s32(b, 8));
  return vorrq_s32(low, vorrq_s32(vshlq_n_s32(c, 16), vshlq_n_s32(d, 24)));
}
/// Four numbers of 8 bits (0 … 255) to a lane: parts[0] lowest.
TESSERA_INLINE I32 pack_parts(const I32 (&parts)[4]) {
  return {shift_or(parts[0].lo, parts[1].lo, parts[2].lo, parts[3].lo),
          shift_or(parts[0].hi, parts[1].hi, parts[2].hi, parts[3].hi)};
}
/// Keeps the lowest byte of each lane.
TESSERA_INLINE I32 low_byte(I32 x) {
  const int32x4_t mask = vdupq_n_s32(255);
  return {vandq_s32(x.lo, mask), vandq_s32(x.hi, mask)};
}

TESSERA_INLINE void store_bytes(void* p, I32 x) {
  const int16x8_t words = vcombine_s16(vqmovn_s32(x.lo), vqmovn_s32(x.hi));
  vst1_s8(static_cast<int8_t*>(p), vqmovn_s16(words));
}
/// Lanes 0 … 3 to p, 4 … 7 to p + stride: one row of two value tiles.
TESSERA_INLINE void store_tile_rows(std::byte* p, int64_t stride, I32 x) {
  vst1q_u8(reinterpret_cast<uint8_t*>(p), vreinterpretq_u8_s32(x.lo));
  vst1q_u8(reinterpret_cast<uint8_t*>(p + stride), vreinterpretq_u8_s32(x.hi));
}

/// acc + the sum of four products of an unsigned byte of a and a signed byte of b: usdot of FEAT_I8MM.
#define TESSERA_HAS_DOT_BYTES
TESSERA_INLINE I32 dot_bytes(I32 acc, I32 a, I32 b) {
  const auto dot = [](int32x4_t sum, int32x4_t x, int32x4_t y) __attribute__((always_inline)) {
    return vusdotq_s32(sum, vreinterpretq_u8_s32(x), vreinterpretq_s8_s32(y));
  };
  return {dot(acc.lo, a.lo, b.lo), dot(acc.hi, a.hi, b.hi)};
}
