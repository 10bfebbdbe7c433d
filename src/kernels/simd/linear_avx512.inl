// What integer linears need beyond avx512.inl. Included after it.

/// The smaller one; b when either is NaN.
TESSERA_INLINE F32 min(F32 a, F32 b) {
  return {_mm512_min_ps(a.v, b.v)};
}
TESSERA_INLINE float reduce_min(F32 x) {
  return _mm512_reduce_min_ps(x.v);
}
TESSERA_INLINE float reduce_max(F32 x) {
  return _mm512_reduce_max_ps(x.v);
}
/// Each lane cut to 0 … 255.
TESSERA_INLINE void store_low_bytes(void* p, I32 x) {
  const __m512i positive = _mm512_max_epi32(x.v, _mm512_setzero_si512());
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtusepi32_epi8(positive));
}
