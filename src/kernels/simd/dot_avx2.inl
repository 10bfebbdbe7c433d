// Products of 16-bit pairs on AVX2: two instructions a step.

/// acc + a.low * b.low + a.high * b.high, signed 16 bits.
TESSERA_INLINE I32 dot_words(I32 acc, I32 a, I32 b) {
  return {_mm256_add_epi32(acc.v, _mm256_madd_epi16(a.v, b.v))};
}
