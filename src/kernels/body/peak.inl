// Register-only loops for kernels/peak.h: as many independent accumulators as a tile has.

constexpr int kPeakAccumulators = kTileRows * kTileVectors;

template <typename V, typename Step>
TESSERA_INLINE void repeat_in_registers(V start, int64_t steps, const Step& step) {
  V acc[kPeakAccumulators];
#pragma GCC unroll 24
  for (int i = 0; i < kPeakAccumulators; ++i) acc[i] = start;
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 24
    for (int i = 0; i < kPeakAccumulators; ++i) {
      acc[i] = step(acc[i]);
      keep(acc[i]);  // every step is done
    }
  }
}

/// Runs `steps` steps; returns the operations of one step, 0 when there is no instruction for the kind.
int64_t run_peak_loop(PeakKind kind, int64_t steps) {
  if (kind == PeakKind::Fp32) {
    const F32 one = splat(1.0F), tiny = splat(1e-9F);
    repeat_in_registers(
        one, steps, [&](F32 x) __attribute__((always_inline)) { return fma(one, tiny, x); });
    return kPeakAccumulators * kLanes * 2;
  }
#ifdef TESSERA_HAS_DOT_WORDS
  if (kind == PeakKind::Int16) {
    const I32 a = splat_int(0x01010101);
    repeat_in_registers(
        a, steps, [&](I32 x) __attribute__((always_inline)) { return dot_words(x, a, a); });
    return kPeakAccumulators * kLanes * 4;
  }
#endif
#ifdef TESSERA_HAS_DOT_BYTES
  if (kind == PeakKind::Int8) {
    const I32 a = splat_int(0x01010101);
    repeat_in_registers(
        a, steps, [&](I32 x) __attribute__((always_inline)) { return dot_bytes(x, a, a); });
    return kPeakAccumulators * kLanes * 8;
  }
#endif
  return 0;
}
