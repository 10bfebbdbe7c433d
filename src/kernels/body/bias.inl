// Masks of one block and strip as numbers added to the logits, laid out as the scores are: [keys, W].

/// Whether keys [key, key + n) need a bias for the strip at all.
TESSERA_INLINE bool needs_bias(const Work& w, const Strip& s, int64_t key, int64_t n) {
  return w.head->mask != nullptr || key + n > w.head->key_end(s.first);
}

template <DType T>
TESSERA_INLINE F32 load_mask_part(const std::byte* p) {
  if constexpr (T == DType::Bool) return load_bool_bias(p);
  if constexpr (T != DType::Bool) return load_as_f32<T>(p);
}

/// A mask whose keys lie side by side: kLanes queries x kLanes keys at a time.
template <DType T>
void fill_mask_tiles(const Work& w, const Strip& s, int64_t key, int64_t n) {
  const MaskView& m = w.head->args->mask;
  const int64_t width = s.vectors * kLanes;
  constexpr int64_t kSize = T == DType::F32 ? 4 : T == DType::Bool ? 1 : 2;
  for (int64_t lane = 0; lane < width; lane += kLanes) {
    for (int64_t j = 0; j + kLanes <= n; j += kLanes) {
      F32 rows[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        const int64_t query = s.first + (lane + i < s.count ? lane + i : s.count - 1);
        rows[i] = load_mask_part<T>(w.head->mask + (s.group * m.stride_h + query * m.stride_q + key + j) * kSize);
      }
      transpose(rows);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(w.bias + (j + i) * width + lane, rows[i]);
    }
  }
}

/// One mask element at a time: any strides, and the keys that do not fill a vector.
TESSERA_INLINE void fill_mask_slowly(const Work& w, const Strip& s, int64_t key, int64_t begin, int64_t end) {
  const int64_t width = s.vectors * kLanes;
  for (int64_t j = begin; j < end; ++j) {
    for (int64_t lane = 0; lane < width; ++lane) {
      const int64_t query = s.first + (lane < s.count ? lane : s.count - 1);
      w.bias[j * width + lane] = mask_value(*w.head, s.group, query, key + j);
    }
  }
}

/// One row of the mask serves all queries.
TESSERA_INLINE void fill_mask_row(const Work& w, const Strip& s, int64_t key, int64_t n) {
  const int64_t width = s.vectors * kLanes;
  for (int64_t j = 0; j < n; ++j) {
    const F32 value = splat(mask_value(*w.head, s.group, s.first, key + j));
    for (int64_t lane = 0; lane < width; lane += kLanes) store(w.bias + j * width + lane, value);
  }
}

TESSERA_INLINE void fill_mask(const Work& w, const Strip& s, int64_t key, int64_t n) {
  const MaskView& m = w.head->args->mask;
  if (m.stride_q == 0) return fill_mask_row(w, s, key, n);
  if (m.stride_k != 1) return fill_mask_slowly(w, s, key, 0, n);
  const DType dtype = m.kind == MaskKind::Bool ? DType::Bool : m.dtype;
  if (dtype == DType::Bool) fill_mask_tiles<DType::Bool>(w, s, key, n);
  if (dtype == DType::F32) fill_mask_tiles<DType::F32>(w, s, key, n);
  if (dtype == DType::F16) fill_mask_tiles<DType::F16>(w, s, key, n);
  if (dtype == DType::BF16) fill_mask_tiles<DType::BF16>(w, s, key, n);
  fill_mask_slowly(w, s, key, n / kLanes * kLanes, n);
}

/// The first lane whose query sees a key; kWidth where none does.
TESSERA_INLINE float first_seeing_lane(const Work& w, const Strip& s, int64_t key) {
  // Query first + lane sees the key when lane >= key - shift - first.
  const int64_t lanes_before = key - w.head->causal_shift - s.first;
  return static_cast<float>(lanes_before < kWidth ? lanes_before : kWidth);
}

/// Excludes the keys that causality hides from a lane's query.
TESSERA_INLINE void exclude_later_keys(const Work& w, const Strip& s, int64_t key, int64_t n) {
  const int64_t width = s.vectors * kLanes;
  for (int64_t j = 0; j < n; ++j) {
    const F32 limit = splat(first_seeing_lane(w, s, key + j));
    for (int64_t lane = 0; lane < width; lane += kLanes) {
      float* at = w.bias + j * width + lane;
      store(at, exclude_below(add(lane_numbers(), splat(static_cast<float>(lane))), limit, load(at)));
    }
  }
}

/// Fills w.bias [n, W] for keys [key, key + n).
TESSERA_INLINE void fill_bias(const Work& w, const Strip& s, int64_t key, int64_t n) {
  const int64_t width = s.vectors * kLanes;
  if (w.head->mask == nullptr) {
    for (int64_t i = 0; i < n * width; i += kLanes) store(w.bias + i, splat(0.0F));
  } else {
    fill_mask(w, s, key, n);
  }
  if (w.head->args->causal != Causal::None) exclude_later_keys(w, s, key, n);
}

/// Where causality alone hides keys: scores *= unit, hidden ones become -inf whatever they are. Sets block.max.
template <int NV>
void apply_causality(const Work& w, const Strip& s, int64_t key, int64_t n, Block<NV>& block) {
  for (int v = 0; v < NV; ++v) block.max[v] = splat(kMinusInfinity);
  for (int64_t j = 0; j < n; ++j) {
    const F32 limit = splat(first_seeing_lane(w, s, key + j));
    for (int v = 0; v < NV; ++v) {
      float* at = w.scores + (j * NV + v) * kLanes;
      const F32 lanes = add(lane_numbers(), splat(static_cast<float>(v * kLanes)));
      const F32 x = exclude_below(lanes, limit, mul(load(at), block.unit[v]));
      store(at, x);
      block.max[v] = max(x, block.max[v]);
    }
  }
}

/// scores = unit * scores + bias; excluded keys become -inf whatever their score is. Sets block.max; false when a bias
/// is NaN or +inf.
template <int NV>
bool apply_bias(const Work& w, int64_t n, Block<NV>& block) {
  F32 poison = splat(0.0F);
  for (int v = 0; v < NV; ++v) block.max[v] = splat(kMinusInfinity);
  for (int64_t j = 0; j < n; ++j) {
    for (int v = 0; v < NV; ++v) {
      float* at = w.scores + (j * NV + v) * kLanes;
      const F32 bias = load(w.bias + (j * NV + v) * kLanes);
      const F32 excluded = splat(kMinusInfinity);
      const F32 x = select_equal(bias, excluded, excluded, fma(load(at), block.unit[v], bias));
      poison = fma(select_equal(bias, excluded, splat(0.0F), bias), splat(0.0F), poison);
      store(at, x);
      block.max[v] = max(x, block.max[v]);
    }
  }
  return !any_not_equal(poison, splat(0.0F));
}
