// Between the caller's layout and the packed one: rows of any type and stride in, transposed queries, results out.

/// Elements [at, at + kLanes) of a row of n elements as fp32, zeros behind its end.
template <DType T>
TESSERA_INLINE F32 load_row_part(const std::byte* row, int64_t stride, int64_t at, int64_t n) {
  if (stride == 1) {
    const std::byte* p = row + at * (T == DType::F32 ? 4 : 2);
    return at + kLanes <= n ? load_as_f32<T>(p) : load_first_as_f32<T>(p, n - at);
  }
  alignas(64) float values[kLanes] = {};
  for (int i = 0; i < kLanes && at + i < n; ++i) values[i] = load_element(row, T, (at + i) * stride);
  return load(values);
}

/// Start of query row i of a strip's head.
template <DType T>
TESSERA_INLINE const std::byte* query_row(const Work& w, const Strip& s, int64_t i) {
  const TensorView& q = w.head->args->q;
  return w.head->q + (s.group * q.stride_h + i * q.stride_s) * (T == DType::F32 ? 4 : 2);
}

/// Writes the strip's queries times `factor` as columns: to [D rounded up to kLanes, W]; zeros where there is no query.
template <DType T>
void transpose_queries(const Work& w, const Strip& s, float factor, float* to) {
  const int64_t width = s.vectors * kLanes;
  const int64_t stride = w.head->args->q.stride_d;
  for (int64_t lane = 0; lane < width; lane += kLanes) {
    for (int64_t at = 0; at < w.d; at += kLanes) {
      F32 rows[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        rows[i] = splat(0.0F);
        if (lane + i >= s.count) continue;
        rows[i] = mul(load_row_part<T>(query_row<T>(w, s, s.first + lane + i), stride, at, w.d), splat(factor));
      }
      transpose(rows);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(to + (at + i) * width + lane, rows[i]);
    }
  }
}

/// Divides the strip's output by its sums and writes it to the caller's rows.
template <DType T>
void store_output(const Work& w, const Strip& s) {
  const OutputView& out = w.head->args->out;
  const int64_t width = s.vectors * kLanes;
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  for (int64_t lane = 0; lane < s.count; lane += kLanes) {
    const F32 sum = load(s.sum + lane);
    const F32 factor = select_equal(sum, splat(0.0F), splat(0.0F), div(splat(1.0F), sum));
    for (int64_t at = 0; at < w.dv; at += kLanes) {
      F32 rows[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) rows[i] = mul(load(s.out + (at + i) * width + lane), factor);
      transpose(rows);
      for (int i = 0; i < kLanes && lane + i < s.count; ++i) {
        std::byte* row = w.head->out + (s.group * out.stride_h + (s.first + lane + i) * out.stride_s + at) * kSize;
        if (at + kLanes <= w.dv) store_from_f32<T>(row, rows[i]);
        if (at + kLanes > w.dv) store_first_from_f32<T>(row, rows[i], w.dv - at);
      }
    }
  }
}

/// Natural log of the sums, relative to the true (not the smoothed) keys.
TESSERA_INLINE void store_lse(const Work& w, const Strip& s) {
  if (w.head->lse == nullptr) return;
  float* lse = w.head->lse + s.group * w.head->lse_stride_h + s.first;
  for (int64_t i = 0; i < s.count; ++i) {
    const float mean = s.q_mean == nullptr ? 0.0F : s.q_mean[i];
    lse[i] = s.sum[i] == 0 ? kMinusInfinity : s.max[i] + mean + __builtin_logf(s.sum[i]);
  }
}

/// A strip without any key: zeros and LSE -inf.
template <DType T>
void store_nothing(const Work& w, const Strip& s) {
  const OutputView& out = w.head->args->out;
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  for (int64_t i = 0; i < s.count; ++i) {
    std::byte* row = w.head->out + (s.group * out.stride_h + (s.first + i) * out.stride_s) * kSize;
    __builtin_memset(row, 0, static_cast<size_t>(w.dv * kSize));
    if (w.head->lse != nullptr) w.head->lse[s.group * w.head->lse_stride_h + s.first + i] = kMinusInfinity;
  }
}
