// AVX-512 (F, BW, VL, DQ) vectors for kernels/body. Included inside a namespace and a target region, after immintrin.h.

#define TESSERA_INLINE [[gnu::always_inline]] inline

constexpr int kLanes = 16;
/// Rows of a register tile: 8 x 3 accumulators, 3 vector operands, the broadcast folds into the FMA.
constexpr int kTileRows = 8;
/// Steps of a product loop between two tests of its end: the tests run beside the products here.
constexpr int kUnroll = 1;

struct F32 {
  __m512 v;
};
struct I32 {
  __m512i v;
};

/// Makes the compiler believe that x may have changed; costs no instruction.
TESSERA_INLINE void keep(F32& x) {
  asm volatile("" : "+v"(x.v));
}
TESSERA_INLINE void keep(I32& x) {
  asm volatile("" : "+v"(x.v));
}

TESSERA_INLINE F32 load(const float* p) {
  return {_mm512_loadu_ps(p)};
}
TESSERA_INLINE void store(float* p, F32 x) {
  _mm512_storeu_ps(p, x.v);
}
TESSERA_INLINE F32 splat(float x) {
  return {_mm512_set1_ps(x)};
}
TESSERA_INLINE F32 add(F32 a, F32 b) {
  return {_mm512_add_ps(a.v, b.v)};
}
TESSERA_INLINE F32 sub(F32 a, F32 b) {
  return {_mm512_sub_ps(a.v, b.v)};
}
TESSERA_INLINE F32 mul(F32 a, F32 b) {
  return {_mm512_mul_ps(a.v, b.v)};
}
TESSERA_INLINE F32 div(F32 a, F32 b) {
  return {_mm512_div_ps(a.v, b.v)};
}
/// a * b + c
TESSERA_INLINE F32 fma(F32 a, F32 b, F32 c) {
  return {_mm512_fmadd_ps(a.v, b.v, c.v)};
}
/// The larger one; b when either is NaN.
TESSERA_INLINE F32 max(F32 a, F32 b) {
  return {_mm512_max_ps(a.v, b.v)};
}
TESSERA_INLINE F32 abs(F32 a) {
  return {_mm512_abs_ps(a.v)};
}
/// Lane by lane: test == value ? yes : no.
TESSERA_INLINE F32 select_equal(F32 test, F32 value, F32 yes, F32 no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(test.v, value.v, _CMP_EQ_OQ), no.v, yes.v)};
}
TESSERA_INLINE bool any_not_equal(F32 a, F32 b) {
  return _mm512_cmp_ps_mask(a.v, b.v, _CMP_NEQ_UQ) != 0;
}
/// True when a lane is not below the limit; NaN counts.
TESSERA_INLINE bool any_not_below(F32 a, F32 limit) {
  return _mm512_cmp_ps_mask(a.v, limit.v, _CMP_NLT_UQ) != 0;
}
/// The fraction above the next lower integer, in [0, 1).
TESSERA_INLINE F32 fraction(F32 x) {
  return {_mm512_reduce_ps(x.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
}
/// p * 2^floor(x); zero for x = -inf.
TESSERA_INLINE F32 scale_by_power(F32 p, F32 x) {
  return {_mm512_scalef_ps(p.v, x.v)};
}

TESSERA_INLINE __mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1U);
}

template <DType T>
TESSERA_INLINE F32 load_as_f32(const std::byte* p) {
  if constexpr (T == DType::F32) return {_mm512_loadu_ps(p)};
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  if constexpr (T == DType::F16) return {_mm512_cvtph_ps(half)};
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}

/// The first `count` < kLanes elements; zeros behind them, whose memory is not touched.
template <DType T>
TESSERA_INLINE F32 load_first_as_f32(const std::byte* p, int64_t count) {
  const __mmask16 lanes = first_lanes(count);
  if constexpr (T == DType::F32) return {_mm512_maskz_loadu_ps(lanes, p)};
  const __m256i half = _mm256_maskz_loadu_epi16(lanes, p);
  if constexpr (T == DType::F16) return {_mm512_cvtph_ps(half)};
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}

/// Round to nearest even in the lower 16 bits; NaN stays NaN.
TESSERA_INLINE __m256i to_bf16(F32 x) {
  const __m512i bits = _mm512_castps_si512(x.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __mmask16 nan = _mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q);
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, nan, quiet), 16));
}

template <DType T>
TESSERA_INLINE void store_from_f32(std::byte* p, F32 x) {
  if constexpr (T == DType::F32) return _mm512_storeu_ps(p, x.v);
  __m256i half;
  if constexpr (T == DType::F16) half = _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  if constexpr (T != DType::F16) half = to_bf16(x);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), half);
}

template <DType T>
TESSERA_INLINE void store_first_from_f32(std::byte* p, F32 x, int64_t count) {
  const __mmask16 lanes = first_lanes(count);
  if constexpr (T == DType::F32) return _mm512_mask_storeu_ps(p, lanes, x.v);
  __m256i half;
  if constexpr (T == DType::F16) half = _mm512_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  if constexpr (T != DType::F16) half = to_bf16(x);
  _mm256_mask_storeu_epi16(p, lanes, half);
}

/// 16 mask bytes as 0 (nonzero byte) or -inf (zero byte).
TESSERA_INLINE F32 load_bool_bias(const std::byte* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __mmask16 excluded = _mm_testn_epi8_mask(bytes, bytes);
  return {_mm512_maskz_mov_ps(excluded, _mm512_set1_ps(-__builtin_inff()))};
}

/// Rows become columns of a 16 x 16 block.
TESSERA_INLINE void transpose(F32 (&r)[16]) {
  __m512 t[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512 a = _mm512_unpacklo_ps(r[i].v, r[i + 1].v), b = _mm512_unpackhi_ps(r[i].v, r[i + 1].v);
    const __m512 c = _mm512_unpacklo_ps(r[i + 2].v, r[i + 3].v), d = _mm512_unpackhi_ps(r[i + 2].v, r[i + 3].v);
    t[i] = _mm512_shuffle_ps(a, c, 0x44), t[i + 1] = _mm512_shuffle_ps(a, c, 0xEE);
    t[i + 2] = _mm512_shuffle_ps(b, d, 0x44), t[i + 3] = _mm512_shuffle_ps(b, d, 0xEE);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xDD);
    const __m512 c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
    const __m512 d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xDD);
    r[i].v = _mm512_shuffle_f32x4(a, c, 0x88), r[i + 8].v = _mm512_shuffle_f32x4(a, c, 0xDD);
    r[i + 4].v = _mm512_shuffle_f32x4(b, d, 0x88), r[i + 12].v = _mm512_shuffle_f32x4(b, d, 0xDD);
  }
}

/// 0, 1, 2, … as floats.
TESSERA_INLINE F32 lane_numbers() {
  return {_mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)};
}
/// a < limit ? -inf : other
TESSERA_INLINE F32 exclude_below(F32 a, F32 limit, F32 other) {
  return {_mm512_mask_mov_ps(other.v, _mm512_cmp_ps_mask(a.v, limit.v, _CMP_LT_OQ), _mm512_set1_ps(-__builtin_inff()))};
}

TESSERA_INLINE I32 load_int(const void* p) {
  return {_mm512_loadu_si512(p)};
}
TESSERA_INLINE void store_int(void* p, I32 x) {
  _mm512_storeu_si512(p, x.v);
}
TESSERA_INLINE I32 splat_int(int32_t x) {
  return {_mm512_set1_epi32(x)};
}
TESSERA_INLINE I32 add_int(I32 a, I32 b) {
  return {_mm512_add_epi32(a.v, b.v)};
}
/// Rounds to nearest, ties to even.
TESSERA_INLINE I32 to_int(F32 x) {
  return {_mm512_cvtps_epi32(x.v)};
}
TESSERA_INLINE F32 to_float(I32 x) {
  return {_mm512_cvtepi32_ps(x.v)};
}
/// Lane by lane the larger of acc >= 0 and |x|, by bits: infinities and NaN stay once they are met.
TESSERA_INLINE F32 max_magnitude(F32 acc, F32 x) {
  const __m512i bits = _mm512_castps_si512(_mm512_abs_ps(x.v));
  return {_mm512_castsi512_ps(_mm512_max_epi32(_mm512_castps_si512(acc.v), bits))};
}
TESSERA_INLINE float reduce_max_magnitude(F32 x) {
  return _mm512_cvtss_f32(_mm512_castsi512_ps(_mm512_set1_epi32(_mm512_reduce_max_epi32(_mm512_castps_si512(x.v)))));
}
TESSERA_INLINE int32_t reduce_add(I32 x) {
  return _mm512_reduce_add_epi32(x.v);
}
/// a < limit ? yes : no
TESSERA_INLINE F32 select_below(F32 a, F32 limit, F32 yes, F32 no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, limit.v, _CMP_LT_OQ), no.v, yes.v)};
}

/// Two 16-bit numbers to a lane: parts[0] low.
TESSERA_INLINE I32 pack_parts(const I32 (&parts)[2]) {
  return {_mm512_mask_blend_epi16(0xAAAAAAAAU, parts[0].v, _mm512_slli_epi32(parts[1].v, 16))};
}
/// Four numbers of 8 bits (0 … 255) to a lane: parts[0] lowest.
TESSERA_INLINE I32 pack_parts(const I32 (&parts)[4]) {
  const __m512i b1 = _mm512_slli_epi32(parts[1].v, 8), b2 = _mm512_slli_epi32(parts[2].v, 16);
  const __m512i b3 = _mm512_slli_epi32(parts[3].v, 24);
  return {_mm512_or_si512(_mm512_ternarylogic_epi32(parts[0].v, b1, b2, 0xFE), b3)};
}
/// Keeps the lowest byte of each lane.
TESSERA_INLINE I32 low_byte(I32 x) {
  return {_mm512_and_si512(x.v, _mm512_set1_epi32(255))};
}

TESSERA_INLINE void store_words(void* p, I32 x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(x.v));
}
TESSERA_INLINE void store_bytes(void* p, I32 x) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8(x.v));
}
/// Lanes 0 … 7 to p, 8 … 15 to p + stride: one row of two value tiles.
TESSERA_INLINE void store_tile_rows(std::byte* p, int64_t stride, I32 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_castsi512_si256(x.v));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + stride), _mm512_extracti64x4_epi64(x.v, 1));
}
