// What integer linears need beyond avx2.inl. Included after it.

/// The smaller one; b when either is NaN.
TESSERA_INLINE F32 min(F32 a, F32 b) {
  return {_mm256_min_ps(a.v, b.v)};
}
TESSERA_INLINE float reduce_min(F32 x) {
  __m128 m = _mm_min_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  m = _mm_min_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_min_ss(m, _mm_shuffle_ps(m, m, 1)));
}
TESSERA_INLINE float reduce_max(F32 x) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_shuffle_ps(m, m, 1)));
}
/// Each lane cut to 0 … 255.
TESSERA_INLINE void store_low_bytes(void* p, I32 x) {
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packus_epi16(to_words(x), _mm_setzero_si128()));
}
