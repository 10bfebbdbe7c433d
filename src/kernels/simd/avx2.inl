// AVX2 + FMA + F16C vectors for kernels/body. Included inside a namespace and a target region, after immintrin.h.

#define TESSERA_INLINE [[gnu::always_inline]] inline

constexpr int kLanes = 8;
/// Rows of a register tile: 4 x 3 accumulators, 3 vector operands and one broadcast fill the 16 registers.
constexpr int kTileRows = 4;
/// Steps of a product loop between two tests of its end: those share the ports of the products here.
constexpr int kUnroll = 4;

struct F32 {
  __m256 v;
};
struct I32 {
  __m256i v;
};

/// Makes the compiler believe that x may have changed; costs no instruction.
TESSERA_INLINE void keep(F32& x) {
  asm volatile("" : "+x"(x.v));
}
TESSERA_INLINE void keep(I32& x) {
  asm volatile("" : "+x"(x.v));
}

TESSERA_INLINE F32 load(const float* p) {
  return {_mm256_loadu_ps(p)};
}
TESSERA_INLINE void store(float* p, F32 x) {
  _mm256_storeu_ps(p, x.v);
}
TESSERA_INLINE F32 splat(float x) {
  return {_mm256_set1_ps(x)};
}
TESSERA_INLINE F32 add(F32 a, F32 b) {
  return {_mm256_add_ps(a.v, b.v)};
}
TESSERA_INLINE F32 sub(F32 a, F32 b) {
  return {_mm256_sub_ps(a.v, b.v)};
}
TESSERA_INLINE F32 mul(F32 a, F32 b) {
  return {_mm256_mul_ps(a.v, b.v)};
}
TESSERA_INLINE F32 div(F32 a, F32 b) {
  return {_mm256_div_ps(a.v, b.v)};
}
/// a * b + c
TESSERA_INLINE F32 fma(F32 a, F32 b, F32 c) {
  return {_mm256_fmadd_ps(a.v, b.v, c.v)};
}
/// The larger one; b when either is NaN.
TESSERA_INLINE F32 max(F32 a, F32 b) {
  return {_mm256_max_ps(a.v, b.v)};
}
TESSERA_INLINE F32 abs(F32 a) {
  return {_mm256_andnot_ps(_mm256_set1_ps(-0.0F), a.v)};
}
/// Lane by lane: test == value ? yes : no.
TESSERA_INLINE F32 select_equal(F32 test, F32 value, F32 yes, F32 no) {
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_cmp_ps(test.v, value.v, _CMP_EQ_OQ))};
}
TESSERA_INLINE bool any_not_equal(F32 a, F32 b) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_NEQ_UQ)) != 0;
}
/// True when a lane is not below the limit; NaN counts.
TESSERA_INLINE bool any_not_below(F32 a, F32 limit) {
  return _mm256_movemask_ps(_mm256_cmp_ps(a.v, limit.v, _CMP_NLT_UQ)) != 0;
}
/// The fraction above the next lower integer, in [0, 1).
TESSERA_INLINE F32 fraction(F32 x) {
  return {_mm256_sub_ps(x.v, _mm256_floor_ps(x.v))};
}
/// p * 2^floor(x) for x <= 0; zero below -126, also for x = -inf whatever p is.
TESSERA_INLINE F32 scale_by_power(F32 p, F32 x) {
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(_mm256_floor_ps(x.v)), 23);
  const __m256 scaled = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p.v), exponent));
  return {_mm256_and_ps(scaled, _mm256_cmp_ps(x.v, _mm256_set1_ps(-126.0F), _CMP_NLT_UQ))};
}

template <DType T>
TESSERA_INLINE F32 load_as_f32(const std::byte* p) {
  if constexpr (T == DType::F32) return {_mm256_loadu_ps(reinterpret_cast<const float*>(p))};
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  if constexpr (T == DType::F16) return {_mm256_cvtph_ps(half)};
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16))};
}

template <DType T>
constexpr int kBytes = T == DType::F32 ? 4 : 2;

/// The first `count` < kLanes elements; zeros behind them, whose memory is not touched.
template <DType T>
TESSERA_INLINE F32 load_first_as_f32(const std::byte* p, int64_t count) {
  alignas(32) std::byte whole[32] = {};
  __builtin_memcpy(whole, p, static_cast<size_t>(count * kBytes<T>));
  return load_as_f32<T>(whole);
}

/// Round to nearest even in the lower 16 bits; NaN stays NaN.
TESSERA_INLINE __m128i to_bf16(F32 x) {
  const __m256i bits = _mm256_castps_si256(x.v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x.v, x.v, _CMP_UNORD_Q));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i words = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

template <DType T>
TESSERA_INLINE void store_from_f32(std::byte* p, F32 x) {
  if constexpr (T == DType::F32) return _mm256_storeu_ps(reinterpret_cast<float*>(p), x.v);
  __m128i half;
  if constexpr (T == DType::F16) half = _mm256_cvtps_ph(x.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  if constexpr (T != DType::F16) half = to_bf16(x);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), half);
}

template <DType T>
TESSERA_INLINE void store_first_from_f32(std::byte* p, F32 x, int64_t count) {
  alignas(32) std::byte whole[32];
  store_from_f32<T>(whole, x);
  __builtin_memcpy(p, whole, static_cast<size_t>(count * kBytes<T>));
}

/// 8 mask bytes as 0 (nonzero byte) or -inf (zero byte).
TESSERA_INLINE F32 load_bool_bias(const std::byte* p) {
  const __m256i bytes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  const __m256i excluded = _mm256_cmpeq_epi32(bytes, _mm256_setzero_si256());
  return {_mm256_and_ps(_mm256_castsi256_ps(excluded), _mm256_set1_ps(-__builtin_inff()))};
}

/// Rows become columns of an 8 x 8 block.
TESSERA_INLINE void transpose(F32 (&r)[8]) {
  __m256 t[8];
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    const __m256 a = _mm256_unpacklo_ps(r[i].v, r[i + 1].v), b = _mm256_unpackhi_ps(r[i].v, r[i + 1].v);
    const __m256 c = _mm256_unpacklo_ps(r[i + 2].v, r[i + 3].v), d = _mm256_unpackhi_ps(r[i + 2].v, r[i + 3].v);
    t[i] = _mm256_shuffle_ps(a, c, 0x44), t[i + 1] = _mm256_shuffle_ps(a, c, 0xEE);
    t[i + 2] = _mm256_shuffle_ps(b, d, 0x44), t[i + 3] = _mm256_shuffle_ps(b, d, 0xEE);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    r[i].v = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
    r[i + 4].v = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
  }
}

/// 0, 1, 2, … as floats.
TESSERA_INLINE F32 lane_numbers() {
  return {_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7)};
}
/// a < limit ? -inf : other
TESSERA_INLINE F32 exclude_below(F32 a, F32 limit, F32 other) {
  return {_mm256_blendv_ps(other.v, _mm256_set1_ps(-__builtin_inff()), _mm256_cmp_ps(a.v, limit.v, _CMP_LT_OQ))};
}

TESSERA_INLINE I32 load_int(const void* p) {
  return {_mm256_loadu_si256(static_cast<const __m256i*>(p))};
}
TESSERA_INLINE void store_int(void* p, I32 x) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), x.v);
}
TESSERA_INLINE I32 splat_int(int32_t x) {
  return {_mm256_set1_epi32(x)};
}
TESSERA_INLINE I32 add_int(I32 a, I32 b) {
  return {_mm256_add_epi32(a.v, b.v)};
}
/// Rounds to nearest, ties to even.
TESSERA_INLINE I32 to_int(F32 x) {
  return {_mm256_cvtps_epi32(x.v)};
}
TESSERA_INLINE F32 to_float(I32 x) {
  return {_mm256_cvtepi32_ps(x.v)};
}
/// Lane by lane the larger of acc >= 0 and |x|, by bits: infinities and NaN stay once they are met.
TESSERA_INLINE F32 max_magnitude(F32 acc, F32 x) {
  return {_mm256_castsi256_ps(_mm256_max_epi32(_mm256_castps_si256(acc.v), _mm256_castps_si256(abs(x).v)))};
}
TESSERA_INLINE float reduce_max_magnitude(F32 x) {
  const __m256i bits = _mm256_castps_si256(x.v);
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return _mm_cvtss_f32(_mm_castsi128_ps(m));
}
TESSERA_INLINE int32_t reduce_add(I32 x) {
  __m128i m = _mm_add_epi32(_mm256_castsi256_si128(x.v), _mm256_extracti128_si256(x.v, 1));
  m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_add_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return _mm_cvtsi128_si32(m);
}
/// a < limit ? yes : no
TESSERA_INLINE F32 select_below(F32 a, F32 limit, F32 yes, F32 no) {
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_cmp_ps(a.v, limit.v, _CMP_LT_OQ))};
}

/// Two 16-bit numbers to a lane: parts[0] low.
TESSERA_INLINE I32 pack_parts(const I32 (&parts)[2]) {
  return {_mm256_blend_epi16(parts[0].v, _mm256_slli_epi32(parts[1].v, 16), 0xAA)};
}
/// Four numbers of 8 bits (0 … 255) to a lane: parts[0] lowest.
TESSERA_INLINE I32 pack_parts(const I32 (&parts)[4]) {
  const __m256i b1 = _mm256_slli_epi32(parts[1].v, 8), b2 = _mm256_slli_epi32(parts[2].v, 16);
  const __m256i b3 = _mm256_slli_epi32(parts[3].v, 24);
  return {_mm256_or_si256(_mm256_or_si256(parts[0].v, b1), _mm256_or_si256(b2, b3))};
}
/// Keeps the lowest byte of each lane.
TESSERA_INLINE I32 low_byte(I32 x) {
  return {_mm256_and_si256(x.v, _mm256_set1_epi32(255))};
}

TESSERA_INLINE __m128i to_words(I32 x) {
  return _mm_packs_epi32(_mm256_castsi256_si128(x.v), _mm256_extracti128_si256(x.v, 1));
}
TESSERA_INLINE void store_words(void* p, I32 x) {
  _mm_storeu_si128(static_cast<__m128i*>(p), to_words(x));
}
TESSERA_INLINE void store_bytes(void* p, I32 x) {
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packs_epi16(to_words(x), _mm_setzero_si128()));
}
/// Lanes 0 … 3 to p, 4 … 7 to p + stride: one row of two value tiles.
TESSERA_INLINE void store_tile_rows(std::byte* p, int64_t stride, I32 x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(x.v));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p + stride), _mm256_extracti128_si256(x.v, 1));
}
