// Between the caller's layout and the packed one: rows of any type and stride in, transposed queries, results out.

/// Elements [at, at + kLanes) of a row of n elements as fp32, zeros behind its end.
template <DType T>
TESSERA_INLINE F32 load_row_part(const std::byte* row, int64_t at, int64_t n) {
  const std::byte* p = row + at * (T == DType::F32 ? 4 : 2);
  return at + kLanes <= n ? load_as_f32<T>(p) : load_first_as_f32<T>(p, n - at);
}

/// Start of query row i of a strip's head.
template <DType T>
TESSERA_INLINE const std::byte* query_row(const Work& w, const Strip& s, int64_t i) {
  const TensorView& q = w.head->args->q;
  return w.head->q + (s.group * q.stride_h + i * q.stride_s) * (T == DType::F32 ? 4 : 2);
}

constexpr int64_t kPageBytes = 4096;

/// Fetches element `at` of kLanes rows that are wanted next: each row lies on a page of its own, where the hardware
/// does not look ahead (with rows closer than that it does: fetching cost 3 % at D = 64, 16 heads). A fetched line
/// serves several `at`: once is enough.
TESSERA_INLINE void prefetch_rows(const std::byte* first, int64_t row_bytes, int64_t rows, int64_t at, int64_t size) {
  if (at * size % 64 != 0 || row_bytes < kPageBytes) return;
  for (int64_t i = 0; i < kLanes && i < rows; ++i) __builtin_prefetch(first + i * row_bytes + at * size, 0, 2);
}

/// Writes the strip's queries times `factor` as columns: to [D rounded up to kLanes, W]; zeros where there is no query.
template <DType T>
void transpose_queries(const Work& w, const Strip& s, float factor, float* to) {
  constexpr int64_t kSize = T == DType::F32 ? 4 : 2;
  const int64_t width = s.vectors * kLanes;
  for (int64_t lane = 0; lane < width; lane += kLanes) {
    const int64_t next = s.first + lane + kLanes;
    for (int64_t at = 0; at < w.d; at += kLanes) {
      prefetch_rows(query_row<T>(w, s, next), w.head->args->q.stride_s * kSize, w.head->seq_q - next, at, kSize);
      F32 rows[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        rows[i] = splat(0.0F);
        if (lane + i >= s.count) continue;
        rows[i] = mul(load_row_part<T>(query_row<T>(w, s, s.first + lane + i), at, w.d), splat(factor));
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
    const int64_t next = s.first + lane + kLanes;
    const std::byte* next_row = w.head->out + (s.group * out.stride_h + next * out.stride_s) * kSize;
    for (int64_t at = 0; at < w.dv; at += kLanes) {
      prefetch_rows(next_row, out.stride_s * kSize, w.head->seq_q - next, at, kSize);
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
