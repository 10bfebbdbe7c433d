// What a task works with: its strips of queries, the packed block of keys, and the scratch memory under both.

constexpr int kWidth = kTileVectors * kLanes;
constexpr float kLog2E = 1.44269504F;
constexpr float kLn2 = 0.693147181F;
constexpr float kMinusInfinity = -__builtin_inff();

TESSERA_INLINE int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}

/// Up to kWidth queries of one head, one a lane; rows of its arrays are `vectors * kLanes` wide.
struct Strip {
  int64_t group = 0;
  int64_t first = 0;  ///< query index of lane 0
  int64_t count = 0;  ///< queries; lanes behind them hold zeros
  int64_t key_end = 0;
  int vectors = 0;
  bool started = false;  ///< out holds something
  bool redo = false;     ///< met values that its integers cannot hold
  std::byte* q = nullptr;
  float* q_scale = nullptr;  ///< [W] what one integer step of a query's logits is worth
  float* q_mean = nullptr;   ///< [W] logit of the keys' mean, added to LSE
  float* out = nullptr;      ///< [Dv rounded up, W]
  float* max = nullptr;      ///< [W] largest logit so far
  float* sum = nullptr;      ///< [W] sum of exp(logit - max)
};

/// What remains to be fetched of the next block: rows of one head lie far apart, each on a memory page of its own, and
/// the hardware prefetcher does not see them coming.
struct Prefetch {
  const std::byte* k = nullptr;
  const std::byte* v = nullptr;
  int64_t k_stride = 0, v_stride = 0;
  int64_t k_bytes = 0, v_bytes = 0;
  int64_t rows = 0;
  int64_t rows_per_tile = 1;
};

/// Called once a tile.
TESSERA_INLINE void prefetch_some(Prefetch& p) {
  for (int64_t i = 0; i < p.rows_per_tile && p.rows > 0; ++i, --p.rows) {
    for (int64_t at = 0; at < p.k_bytes; at += 64) __builtin_prefetch(p.k + at, 0, 2);
    for (int64_t at = 0; at < p.v_bytes; at += 64) __builtin_prefetch(p.v + at, 0, 2);
    p.k += p.k_stride, p.v += p.v_stride;
  }
}

/// One packed block of keys and values; what each array holds is up to the arithmetic.
struct Packed {
  std::byte* k = nullptr;
  std::byte* v = nullptr;
  float* k_scale = nullptr;     ///< [block]
  int32_t* k_offset = nullptr;  ///< [block] where the accumulators of unsigned products start
  float* v_scale = nullptr;     ///< [Dv rounded up]
  bool v_finite = true;
  bool fits = true;  ///< false: it holds values that integers cannot hold
};

/// One task's view of its head.
struct Work {
  const HeadProblem* head = nullptr;
  int64_t d = 0;
  int64_t dv = 0;
  int64_t dv_rows = 0;  ///< dv rounded up to whole vectors, for the transposition at the end
  Strip* strips = nullptr;
  int64_t strip_count = 0;
  Packed* blocks = nullptr;      ///< all blocks of the head where `keeps` is set, else those of one group
  bool keeps = false;            ///< packed blocks serve all chunks of the task
  int64_t packed = 0;            ///< blocks of the head that are packed by now
  Packed block;                  ///< the one at hand
  Packed* group = nullptr;       ///< the blocks that are folded together
  float* k_mean = nullptr;       ///< [D]
  float* scores = nullptr;       ///< [block, W]
  float* bias = nullptr;         ///< [block, W]
  std::byte* weights = nullptr;  ///< quantised weights [group][block, W]
  float* largest = nullptr;      ///< [W] maximum of the block's scores so far
  float* rescale = nullptr;      ///< [W] factor for `out` of the strip at hand
  float* share = nullptr;        ///< [group][W] factor for a block's weights
  float* row = nullptr;          ///< [D rounded up] one key in fp32
  float* columns = nullptr;      ///< [D rounded up, W] queries, or [block, kLanes] values, in fp32
  mutable Prefetch prefetch;
};

/// Hands out 64-byte aligned pieces of the thread's scratch memory; without memory it only counts.
struct Arena {
  std::byte* base = nullptr;
  int64_t used = 0;

  template <typename E>
  E* take(int64_t count) {
    E* piece = base == nullptr ? nullptr : reinterpret_cast<E*>(base + used);
    used += round_up(count * static_cast<int64_t>(sizeof(E)), 64);
    return piece;
  }
};

/// The block at hand as the softmax sees it.
template <int NV>
struct Block {
  bool biased = false;
  F32 unit[NV];       ///< what a score is worth
  F32 max[NV];        ///< largest logit
  F32 reference[NV];  ///< logit whose weight is 1
};

/// Bytes from one packed value tile of `groups` lane groups to the next; a power of two would put the stores of one row
/// into one cache set.
constexpr int64_t value_tile_bytes(int64_t groups) {
  return groups * kTileRows * 4 + 64;
}
