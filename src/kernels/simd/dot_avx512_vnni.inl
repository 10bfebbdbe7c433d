// VNNI products on 512-bit registers. As asm: g++ 12 spills the accumulators when these are intrinsics in a tile
// (335 instead of 756 GOP/s in a register loop, measured 2026-11-30).

#define TESSERA_HAS_DOT_WORDS
#define TESSERA_HAS_DOT_BYTES

/// acc + a.low * b.low + a.high * b.high, signed 16 bits.
TESSERA_INLINE I32 dot_words(I32 acc, I32 a, I32 b) {
  asm("vpdpwssd %2, %1, %0" : "+v"(acc.v) : "v"(a.v), "v"(b.v));
  return acc;
}
/// acc + the sum of four products of an unsigned byte of a and a signed byte of b.
TESSERA_INLINE I32 dot_bytes(I32 acc, I32 a, I32 b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(acc.v) : "v"(a.v), "v"(b.v));
  return acc;
}
