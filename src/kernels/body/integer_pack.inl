// Integer tiers: queries, keys and values become numbers with a scale per query, per key, and per channel and block.

/// Above this a value does not fit (infinities and NaN neither): the strip is done again in fp32.
constexpr float kTooLarge = 1e18F;
/// Below this a query or key counts as zero, since its inverse scale would overflow; such values are computed in fp32.
constexpr float kTooSmall = 1e-30F;
/// Keys looked at for their mean; any vector near the mean serves, and the result does not depend on it but for
/// rounding.
constexpr int64_t kMeanSamples = 256;

/// factor = limit / magnitude to quantise with; scale = what one step is worth. Zero for rows of (almost) zeros.
TESSERA_INLINE F32 quantise_factor(F32 magnitude, float limit, F32& scale) {
  const F32 zero = splat(0.0F);
  scale = select_below(magnitude, splat(kTooSmall), zero, mul(magnitude, splat(1.0F / limit)));
  return select_below(magnitude, splat(kTooSmall), zero, div(splat(limit), magnitude));
}

/// k_mean [D] = mean of some of the head's keys.
template <DType T>
void find_key_mean(const Work& w) {
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  const AttentionArgs& a = *w.head->args;
  const int64_t step = (w.head->keys + kMeanSamples - 1) / kMeanSamples;
  const int64_t samples = step == 0 ? 0 : (w.head->keys + step - 1) / step;
  for (int64_t at = 0; at < w.d; at += kLanes) store(w.k_mean + at, splat(0.0F));
  for (int64_t j = 0; j < w.head->keys; j += step) {
    const std::byte* row = w.head->k + j * a.k.stride_s * kSize;
    for (int64_t at = 0; at < w.d; at += kLanes) {
      store(w.k_mean + at, add(load(w.k_mean + at), load_row_part<T>(row, at, w.d)));
    }
  }
  const F32 factor = splat(samples == 0 ? 0.0F : 1.0F / static_cast<float>(samples));
  for (int64_t at = 0; at < w.d; at += kLanes) store(w.k_mean + at, mul(load(w.k_mean + at), factor));
}

/// Queries as [D / kPer][W] lanes of kPer numbers, from w.columns [D, W].
template <class B>
void quantise_queries(const Work& w, Strip& s, int64_t lane) {
  const int64_t width = s.vectors * kLanes;
  F32 magnitude = splat(0.0F), mean = splat(0.0F), scale;
  for (int64_t i = 0; i < w.d; ++i) {
    const F32 x = load(w.columns + i * width + lane);
    magnitude = max_magnitude(magnitude, x);
    if (w.head->lse != nullptr) mean = fma(x, splat(w.k_mean[i]), mean);
  }
  if (any_not_below(magnitude, splat(kTooLarge))) s.redo = true;
  const F32 factor = quantise_factor(magnitude, B::product_limit(w.d), scale);
  store(s.q_scale + lane, scale), store(s.q_mean + lane, mean);
  for (int64_t i = 0; i < w.d; i += B::kPer) {
    I32 parts[B::kPer];
#pragma GCC unroll 4
    for (int r = 0; r < B::kPer; ++r) {
      parts[r] = splat_int(B::kZero);
      if (i + r < w.d) parts[r] = add_int(parts[r], to_int(mul(load(w.columns + (i + r) * width + lane), factor)));
    }
    store_int(s.q + (i / B::kPer * width + lane) * 4, pack_parts(parts));
  }
}

/// One key row minus the mean: w.row, its largest magnitude and its numbers.
template <class B, DType T>
TESSERA_INLINE void quantise_key(Work& w, int64_t key, int64_t j, float limit) {
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  const TensorView& k = w.head->args->k;
  const std::byte* row = w.head->k + key * k.stride_s * kSize;
  F32 magnitudes = splat(0.0F), scale;
  for (int64_t at = 0; at < w.d; at += kLanes) {
    const F32 x = sub(load_row_part<T>(row, at, w.d), load(w.k_mean + at));
    magnitudes = max_magnitude(magnitudes, x);
    store(w.row + at, x);
  }
  const F32 magnitude = splat(reduce_max_magnitude(magnitudes));
  if (any_not_below(magnitude, splat(kTooLarge))) w.block.fits = false;
  const F32 factor = quantise_factor(magnitude, limit, scale);
  store_first_from_f32<DType::F32>(reinterpret_cast<std::byte*>(w.block.k_scale + j), scale, 1);
  I32 sum = splat_int(0);
  std::byte* numbers = w.block.k + j * round_up(w.d, kLanes) * (4 / B::kPer);
  for (int64_t at = 0; at < w.d; at += kLanes) {
    const I32 x = to_int(mul(load(w.row + at), factor));
    if constexpr (B::kZero != 0) sum = add_int(sum, x);
    B::store_narrow(numbers + at * (4 / B::kPer), x);
  }
  if constexpr (B::kZero != 0) w.block.k_offset[j] = -B::kZero * reduce_add(sum);
}

/// Channels [at, at + kLanes) of the block's values, as [Dv / kTileRows][block / kPer][kTileRows] lanes of kPer
/// numbers.
template <class B, DType T>
TESSERA_INLINE void quantise_channels(Work& w, int64_t key, int64_t n, int64_t at) {
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  const TensorView& view = w.head->args->v;
  const std::byte* first = w.head->v + key * view.stride_s * kSize;
  F32 magnitude = splat(0.0F), scale;
  for (int64_t j = 0; j < n; ++j) {
    const F32 x = load_row_part<T>(first + j * view.stride_s * kSize, at, w.dv);
    magnitude = max_magnitude(magnitude, x);
    store(w.columns + j * kLanes, x);
  }
  // A channel of tiny values is not a channel of zeros: the result is made of them.
  const F32 tiny = select_below(magnitude, splat(kTooSmall), magnitude, splat(0.0F));
  if (any_not_below(magnitude, splat(kTooLarge)) || any_not_equal(tiny, splat(0.0F))) w.block.fits = false;
  const F32 factor = quantise_factor(magnitude, B::kValueLimit, scale);
  store(w.block.v_scale + at, scale);
  constexpr int64_t kTileBytes = value_tile_bytes(B::kBlock / B::kPer);
  std::byte* to = w.block.v + at / kTileRows * kTileBytes;
  for (int64_t j = 0; j < n; j += B::kPer, to += kTileRows * 4) {
    I32 parts[B::kPer];
#pragma GCC unroll 4
    for (int r = 0; r < B::kPer; ++r) {
      parts[r] = splat_int(0);
      if (j + r < n) parts[r] = B::as_part(to_int(mul(load(w.columns + (j + r) * kLanes), factor)));
    }
    store_tile_rows(to, kTileBytes, pack_parts(parts));
  }
}
