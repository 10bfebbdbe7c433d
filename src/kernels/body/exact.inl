// Tier Exact: fp32 products for every input type. S^T = K Q^T and O^T += V^T P^T with the queries in the vector lanes.

struct Exact {
  static constexpr Tier kTier = Tier::Exact;
  static constexpr bool kInteger = false;
  static constexpr float kStep = 1.0F;
  /// Keys of a block: weights [64, 48] stay in the first-level cache beside a value tile.
  static constexpr int64_t kBlock = 128;
  /// Blocks folded at once: the weights replace the scores, so there is one.
  static constexpr int kGroup = 1;
  /// Packing a block costs about as much as folding it into this many strips.
  static constexpr double kPackCost = 1.0;

  static constexpr int64_t kTileStride = value_tile_bytes(kBlock) / 4;

  static int64_t query_bytes(int64_t d, int64_t width) { return round_up(d, kLanes) * width * 4; }
  static int64_t key_bytes(int64_t d) { return kBlock * d * 4; }
  static int64_t value_bytes(int64_t dv) { return round_up(dv, kTileRows) / kTileRows * kTileStride * 4; }

  template <DType T>
  static void begin_head(const Work&) {}

  template <DType T>
  static void pack_strip(const Work& w, Strip& s) {
    transpose_queries<T>(w, s, w.head->args->scale, reinterpret_cast<float*>(s.q));
  }
  template <DType T>
  static void pack_block(Work& w, int64_t key, int64_t n);
  template <int NV>
  static void compute_scores(const Work& w, const Strip& s, int64_t n, F32 (&block_max)[NV]);
  template <int NV>
  static void compute_weights(const Work& w, int part, int64_t n, const Block<NV>& block, F32 (&sum)[NV]);
  template <int NV>
  static void add_values(const Work& w, Strip& s, int64_t n, bool biased, bool rescaled);
};

/// Keys as rows [block, D]; values as [Dv / kTileRows][block][kTileRows], so that a tile reads them in a line.
template <DType T>
void Exact::pack_block(Work& w, int64_t key, int64_t n) {
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  const AttentionArgs& a = *w.head->args;
  float* keys = reinterpret_cast<float*>(w.block.k);
  float* values = reinterpret_cast<float*>(w.block.v);
  F32 not_finite = splat(0.0F);
  for (int64_t j = 0; j < n; ++j) {
    const std::byte* k_row = w.head->k + (key + j) * a.k.stride_s * kSize;
    const std::byte* v_row = w.head->v + (key + j) * a.v.stride_s * kSize;
    for (int64_t at = 0; at < w.d; at += kLanes) {
      const F32 x = load_row_part<T>(k_row, at, w.d);
      if (at + kLanes <= w.d) store(keys + j * w.d + at, x);
      if (at + kLanes > w.d)
        store_first_from_f32<DType::F32>(reinterpret_cast<std::byte*>(keys + j * w.d + at), x, w.d - at);
    }
    for (int64_t at = 0; at < w.dv; at += kLanes) {
      const F32 x = load_row_part<T>(v_row, at, w.dv);
      not_finite = fma(x, splat(0.0F), not_finite);  // 0, or NaN for an infinity or NaN
      alignas(64) float part[kLanes];
      store(part, x);
      for (int t = 0; t < kLanes && at + t < w.dv; t += kTileRows) {
        __builtin_memcpy(values + (at + t) / kTileRows * kTileStride + j * kTileRows, part + t, kTileRows * 4);
      }
    }
  }
  for (int64_t j = n; j < round_up(n, kTileRows); ++j) {
    __builtin_memset(keys + j * w.d, 0, static_cast<size_t>(w.d) * 4);
  }
  w.block.v_finite = !any_not_equal(not_finite, splat(0.0F));
}

/// acc += column * row: NV vectors times kTileRows numbers that lie `stride` apart.
template <int NV>
TESSERA_INLINE void outer_product(F32 (&acc)[kTileRows][NV], const float* vectors, const float* numbers,
                                  int64_t stride) {
  F32 x[NV];
#pragma GCC unroll 3
  for (int v = 0; v < NV; ++v) x[v] = load(vectors + v * kLanes);
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
    const F32 b = splat(numbers[r * stride]);
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) acc[r][v] = fma(b, x[v], acc[r][v]);
  }
}

/// acc += n outer products, kUnroll of them between two tests of the loop's end.
template <int NV>
TESSERA_INLINE void outer_products(F32 (&acc)[kTileRows][NV], const float* vectors, const float* numbers,
                                   int64_t stride, int64_t step, int64_t n) {
  int64_t i = 0;
  for (; i + kUnroll <= n; i += kUnroll) {
#pragma GCC unroll 4
    for (int u = 0; u < kUnroll; ++u) {
      outer_product<NV>(acc, vectors + (i + u) * NV * kLanes, numbers + (i + u) * step, stride);
    }
  }
  for (; i < n && kUnroll > 1; ++i) outer_product<NV>(acc, vectors + i * NV * kLanes, numbers + i * step, stride);
}

/// Scores of kTileRows keys; `rows` of them are real and count for the maximum.
template <int NV>
TESSERA_INLINE void score_tile(const float* k, const float* q, int64_t d, int64_t rows, float* scores, float* largest) {
  F32 acc[kTileRows][NV];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) acc[r][v] = splat(0.0F);
  }
  outer_products<NV>(acc, q, k, d, 1, d);
  // The running maximum waits in memory: in registers it would push an operand of the loop above out of them.
#pragma GCC unroll 3
  for (int v = 0; v < NV; ++v) {
    F32 top = load(largest + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      store(scores + (r * NV + v) * kLanes, acc[r][v]);
      if (r < rows) top = max(acc[r][v], top);
    }
    store(largest + v * kLanes, top);
  }
}

template <int NV>
void Exact::compute_scores(const Work& w, const Strip& s, int64_t n, F32 (&block_max)[NV]) {
  const float* keys = reinterpret_cast<const float*>(w.block.k);
  const float* q = reinterpret_cast<const float*>(s.q);
  for (int v = 0; v < NV; ++v) store(w.largest + v * kLanes, splat(kMinusInfinity));
  for (int64_t j = 0; j < n; j += kTileRows) {
    prefetch_some(w.prefetch);
    score_tile<NV>(keys + j * w.d, q, w.d, n - j, w.scores + j * NV * kLanes, w.largest);
  }
  for (int v = 0; v < NV; ++v) block_max[v] = load(w.largest + v * kLanes);
}

/// scores become exp(scores - reference), in place; adds them up.
template <int NV>
void Exact::compute_weights(const Work& w, int, int64_t n, const Block<NV>& block, F32 (&sum)[NV]) {
  for (int v = 0; v < NV; ++v) sum[v] = splat(0.0F);
  for (int64_t j = 0; j < n; ++j) {
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) {
      float* at = w.scores + (j * NV + v) * kLanes;
      const F32 p = exp2_exact(mul(sub(load(at), block.reference[v]), splat(kLog2E)));
      store(at, p);
      sum[v] = add(sum[v], p);
    }
  }
}

/// Writes a tile of this block's partial sums over, onto, or into the rescaled output: short sums keep the error small.
template <int NV>
TESSERA_INLINE void merge_tile(const Work& w, const Strip& s, float* out, const F32 (&acc)[kTileRows][NV],
                               bool rescaled) {
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) {
      float* at = out + (r * NV + v) * kLanes;
      F32 x = acc[r][v];
      if (s.started) x = rescaled ? fma(load(at), load(w.rescale + v * kLanes), x) : add(load(at), x);
      store(at, x);
    }
  }
}

template <int NV>
TESSERA_INLINE void value_tile(const Work& w, const Strip& s, const float* values, int64_t n, float* out,
                               bool rescaled) {
  F32 acc[kTileRows][NV];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < NV; ++v) acc[r][v] = splat(0.0F);
  }
  outer_products<NV>(acc, w.scores, values, 1, kTileRows, n);
  merge_tile<NV>(w, s, out, acc, rescaled);
}

/// As value_tile, for values with infinities or NaN under a mask: an excluded key is left out, not multiplied by 0.
template <int NV>
void value_tile_excluding(const Work& w, const Strip& s, const float* values, int64_t n, float* out, bool rescaled) {
  F32 acc[kTileRows][NV];
  for (int r = 0; r < kTileRows; ++r) {
    for (int v = 0; v < NV; ++v) {
      F32 sum = splat(0.0F);
      for (int64_t j = 0; j < n; ++j) {
        const F32 bias = load(w.bias + (j * NV + v) * kLanes);
        const F32 p = load(w.scores + (j * NV + v) * kLanes);
        sum = select_equal(bias, splat(kMinusInfinity), sum, fma(splat(values[j * kTileRows + r]), p, sum));
      }
      acc[r][v] = sum;
    }
  }
  merge_tile<NV>(w, s, out, acc, rescaled);
}

template <int NV>
void Exact::add_values(const Work& w, Strip& s, int64_t n, bool biased, bool rescaled) {
  const bool excluding = biased && !w.block.v_finite;
  for (int64_t at = 0; at < w.dv; at += kTileRows) {
    const float* values = reinterpret_cast<const float*>(w.block.v) + at / kTileRows * kTileStride;
    float* out = s.out + at * NV * kLanes;
    if (excluding) value_tile_excluding<NV>(w, s, values, n, out, rescaled);
    if (!excluding) value_tile<NV>(w, s, values, n, out, rescaled);
  }
}
