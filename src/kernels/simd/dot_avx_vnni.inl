// VNNI products on 256-bit registers (AVX-VNNI, the VEX encoding). As asm for the reason in dot_avx512_vnni.inl.

#define TESSERA_HAS_DOT_WORDS
#define TESSERA_HAS_DOT_BYTES

/// acc + a.low * b.low + a.high * b.high, signed 16 bits.
TESSERA_INLINE I32 dot_words(I32 acc, I32 a, I32 b) {
  asm("%{vex%} vpdpwssd %2, %1, %0" : "+x"(acc.v) : "x"(a.v), "x"(b.v));
  return acc;
}
/// acc + the sum of four products of an unsigned byte of a and a signed byte of b.
TESSERA_INLINE I32 dot_bytes(I32 acc, I32 a, I32 b) {
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(acc.v) : "x"(a.v), "x"(b.v));
  return acc;
}
