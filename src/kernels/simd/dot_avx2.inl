// Products of 16-bit pairs on AVX2: two instructions a step, as asm: g++ 12 does a tile's products first and then keeps
// its accumulators in memory (measured 2026-11-30: no faster than fp32).

#define TESSERA_HAS_DOT_WORDS

/// acc + a.low * b.low + a.high * b.high, signed 16 bits.
TESSERA_INLINE I32 dot_words(I32 acc, I32 a, I32 b) {
  __m256i products;
  asm("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0" : "+x"(acc.v), "=&x"(products) : "xm"(a.v), "x"(b.v));
  return acc;
}
