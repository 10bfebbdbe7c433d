// Tiers High and Fast: both products in integers with exact sums, weights relative to their own block's maximum.
// Source: Zhang et al. 2024, arXiv 2411.10958 (smoothed keys); the layout is that of exact.inl.

template <class B>
struct Integer {
  static constexpr Tier kTier = B::kTier;
  static constexpr bool kInteger = true;
  static constexpr int64_t kBlock = B::kBlock;
  /// Two blocks are folded at once, so that the output travels from the second-level cache and back half as often.
  static constexpr int kGroup = 2;
  static constexpr double kPackCost = 2.0;
  static constexpr float kStep = 1.0F / B::kWeightLimit;  ///< what one step of a weight is worth
  static constexpr int64_t kTileBytes = value_tile_bytes(kBlock / B::kPer);
  static constexpr int64_t kWeightBytes = kBlock / B::kPer * kWidth * 4;

  static int64_t query_bytes(int64_t d, int64_t width) { return round_up(d, B::kPer) / B::kPer * width * 4; }
  static int64_t key_bytes(int64_t d) { return kBlock * round_up(d, kLanes) * (4 / B::kPer); }
  static int64_t value_bytes(int64_t dv) { return round_up(dv, kLanes) / kTileRows * kTileBytes; }

  template <DType T>
  static void begin_head(const Work& w) {
    find_key_mean<T>(w);
  }
  template <DType T>
  static void pack_strip(const Work& w, Strip& s) {
    transpose_queries<T>(w, s, w.head->args->scale, w.columns);
    for (int64_t lane = 0; lane < s.vectors * kLanes; lane += kLanes) quantise_queries<B>(w, s, lane);
  }
  template <DType T>
  static void pack_block(Work& w, int64_t key, int64_t n) {
    const float limit = B::product_limit(w.d);
    w.block.fits = true;
    for (int64_t j = 0; j < n; ++j) quantise_key<B, T>(w, key + j, j, limit);
    for (int64_t at = 0; at < w.dv; at += kLanes) quantise_channels<B, T>(w, key, n, at);
  }
  template <int NV>
  static void compute_scores(const Work& w, const Strip& s, int64_t n, F32 (&block_max)[NV]);
  template <int NV>
  static void compute_weights(const Work& w, int part, int64_t n, const Block<NV>& block, F32 (&sum)[NV]);
  template <int NV>
  static void add_values(const Work& w, Strip& s, int64_t n, bool biased, bool rescaled);
};

/// acc += column * row: NV vectors times kTileRows lane groups that lie `stride` apart.
template <class B, int NV>
TESSERA_INLINE void integer_outer_product(I32 (&acc)[kTileRows][NV], const std::byte* vectors, const int32_t* numbers,
                                          int64_t stride) {
  I32 x[NV];
#pragma GCC unroll 3
  for (int v = 0; v < NV; ++v) x[v] = load_int(vectors + v * kLanes * 4);
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
    const I32 b = splat_int(numbers[r * stride]);
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) acc[r][v] = B::dot(acc[r][v], x[v], b);
  }
}

/// acc += n outer products, kUnroll of them between two tests of the loop's end.
template <class B, int NV>
TESSERA_INLINE void integer_outer_products(I32 (&acc)[kTileRows][NV], const std::byte* vectors, const int32_t* numbers,
                                           int64_t stride, int64_t step, int64_t n) {
  constexpr int64_t kBytes = NV * kLanes * 4;
  int64_t i = 0;
  for (; i + kUnroll <= n; i += kUnroll) {
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
      integer_outer_product<B, NV>(acc, vectors + (i + u) * kBytes, numbers + (i + u) * step, stride);
    }
  }
  for (; i < n && kUnroll > 1; ++i) {
    integer_outer_product<B, NV>(acc, vectors + i * kBytes, numbers + i * step, stride);
  }
}

/// Scores of kTileRows keys in units of the query's scale; `rows` of them are real and count for the maximum.
template <class B, int NV>
TESSERA_INLINE void integer_score_tile(const Work& w, const std::byte* q, int64_t j, int64_t rows) {
  const int64_t row_bytes = round_up(w.d, kLanes) * (4 / B::kPer);
  const std::byte* k = w.block.k + j * row_bytes;
  I32 acc[kTileRows][NV];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) acc[r][v] = splat_int(B::kZero == 0 ? 0 : w.block.k_offset[j + r]);
  }
  const int64_t groups = (w.d + B::kPer - 1) / B::kPer;
  integer_outer_products<B, NV>(acc, q, reinterpret_cast<const int32_t*>(k), row_bytes / 4, 1, groups);
  float* scores = w.scores + j * NV * kLanes;
#pragma GCC unroll 3
  for (int v = 0; v < NV; ++v) {
    F32 top = load(w.largest + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const F32 score = mul(to_float(acc[r][v]), splat(w.block.k_scale[j + r]));
      store(scores + (r * NV + v) * kLanes, score);
      if (r < rows) top = max(score, top);
    }
    store(w.largest + v * kLanes, top);
  }
}

template <class B>
template <int NV>
void Integer<B>::compute_scores(const Work& w, const Strip& s, int64_t n, F32 (&block_max)[NV]) {
  for (int v = 0; v < NV; ++v) store(w.largest + v * kLanes, splat(kMinusInfinity));
  for (int64_t j = 0; j < n; j += kTileRows) {
    prefetch_some(w.prefetch);
    integer_score_tile<B, NV>(w, s.q, j, n - j);
  }
  for (int v = 0; v < NV; ++v) block_max[v] = load(w.largest + v * kLanes);
}

/// kWeightLimit * exp(unit * score - reference) of kPer keys from j on; zeros from n on. Adds the unrounded weights up.
template <class B, int NV, bool kBiased, bool kWhole>
TESSERA_INLINE I32 weight_group(const Work& w, int64_t j, int64_t n, int v, F32 factor, F32 offset, F32& sum) {
  I32 parts[B::kPer];
#pragma GCC unroll 4
  for (int r = 0; r < B::kPer; ++r) {
    parts[r] = splat_int(0);
    if (!kWhole && j + r >= n) continue;
    const F32 score = load(w.scores + ((j + r) * NV + v) * kLanes);
    // Under a mask the score may be as low as the lowest float: subtract before the product overflows.
    const F32 x = kBiased ? fma(sub(score, offset), factor, splat(B::kLogWeightLimit)) : fma(score, factor, offset);
    const F32 p = B::power(x);
    sum = add(sum, p);
    parts[r] = to_int(p);
  }
  return pack_parts(parts);
}

template <class B, int NV, bool kBiased>
void integer_weights(const Work& w, std::byte* to, int64_t n, const F32 (&factor)[NV], const F32 (&offset)[NV],
                     F32 (&sum)[NV]) {
  for (int v = 0; v < NV; ++v) sum[v] = splat(0.0F);
  int64_t j = 0;
  for (; j + B::kPer <= n; j += B::kPer, to += NV * kLanes * 4) {
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) {
      store_int(to + v * kLanes * 4, weight_group<B, NV, kBiased, true>(w, j, n, v, factor[v], offset[v], sum[v]));
    }
  }
  for (int v = 0; v < NV && j < n; ++v) {
    store_int(to + v * kLanes * 4, weight_group<B, NV, kBiased, false>(w, j, n, v, factor[v], offset[v], sum[v]));
  }
}

template <class B>
template <int NV>
void Integer<B>::compute_weights(const Work& w, int part, int64_t n, const Block<NV>& block, F32 (&sum)[NV]) {
  std::byte* to = w.weights + part * kWeightBytes;
  F32 factor[NV], offset[NV];
  for (int v = 0; v < NV; ++v) {
    factor[v] = block.biased ? splat(kLog2E) : mul(block.unit[v], splat(kLog2E));
    offset[v] = block.biased ? block.reference[v] : fma(block.reference[v], splat(-kLog2E), splat(B::kLogWeightLimit));
  }
  if (block.biased) integer_weights<B, NV, true>(w, to, n, factor, offset, sum);
  if (!block.biased) integer_weights<B, NV, false>(w, to, n, factor, offset, sum);
}

/// Output = its rescaled self + the block's sums, each worth its channel's step times the lane's share.
template <int NV>
TESSERA_INLINE void merge_integer_tile(const Work& w, float* out, const float* v_scale, const float* shares,
                                       const I32 (&acc)[kTileRows][NV], bool started, bool rescaled) {
#pragma GCC unroll 3
  for (int v = 0; v < NV; ++v, out += kLanes) {
    const F32 share = load(shares + v * kLanes), alpha = load(w.rescale + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      float* at = out + r * NV * kLanes;
      const F32 x = mul(to_float(acc[r][v]), splat(v_scale[r]));
      if (!started) {
        store(at, mul(x, share));
        continue;
      }
      store(at, fma(x, share, rescaled ? mul(load(at), alpha) : load(at)));
    }
  }
}

/// Sums over n keys of one block for the kTileRows channels from `at` on. Not inlined: g++ 12 would keep some of the
/// accumulators in memory.
template <class B, int NV>
[[gnu::noinline]] void integer_value_tile(const Work& w, const Strip& s, int part, int64_t n, int64_t at, bool started,
                                          bool rescaled) {
  const int64_t groups = (n + B::kPer - 1) / B::kPer;
  const Packed& block = w.group[part];
  const auto* values = reinterpret_cast<const int32_t*>(block.v + at / kTileRows * Integer<B>::kTileBytes);
  const std::byte* weights = w.weights + part * Integer<B>::kWeightBytes;
  I32 acc[kTileRows][NV];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) acc[r][v] = splat_int(0);
  }
  integer_outer_products<B, NV>(acc, weights, values, 1, kTileRows, groups);
  merge_integer_tile<NV>(w, s.out + at * NV * kLanes, block.v_scale + at, w.share + part * kWidth, acc, started,
                         rescaled);
}

template <class B>
template <int NV>
void Integer<B>::add_values(const Work& w, Strip& s, int64_t keys, bool, bool rescaled) {
  for (int64_t at = 0; at < w.dv; at += kTileRows) {
    for (int part = 0; part * kBlock < keys; ++part) {
      const int64_t rest = keys - part * kBlock;
      integer_value_tile<B, NV>(w, s, part, rest < kBlock ? rest : kBlock, at, s.started || part > 0,
                                rescaled && part == 0);
    }
  }
}
