// Products of 16-bit pairs on AVX-512BW without VNNI: two instructions a step, as asm for the
// reason in dot_avx2.inl.

#define TESSERA_HAS_DOT_WORDS

/// acc + a.low * b.low + a.high * b.high, signed 16 bits.
TESSERA_INLINE I32 dot_words(I32 acc, I32 a, I32 b) {
  __m512i products;
  asm("vpmaddwd %2, %3, %1\n\tvpaddd %1, %0, %0" : "+v"(acc.v), "=&v"(products) : "vm"(a.v), "v"(b.v));
  return acc;
}
