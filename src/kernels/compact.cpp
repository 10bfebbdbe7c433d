#include "kernels/compact.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/dtype.h"

namespace tessera::kernels {

/// Sizes of one input; an axis with stride 0 is kept as one entry.
struct CompactInputs::Extent {
  int64_t batch = 1;
  int64_t seq = 1;
  int64_t heads = 1;
  int64_t dim = 1;
};

namespace {

constexpr int64_t kRowsPerTask = 64;

struct Copy {
  TensorView from;
  std::byte* to = nullptr;
  int64_t rows = 0;  ///< (batch, sequence) pairs
  int64_t seq = 0, heads = 0, dim = 0;
};

template <typename E>
void copy_rows(void* data, int64_t index) {
  const Copy& c = *static_cast<const Copy*>(data);
  const auto* from = static_cast<const E*>(c.from.data);
  for (int64_t row = index * kRowsPerTask; row < std::min(c.rows, (index + 1) * kRowsPerTask); ++row) {
    const E* source = from + row / c.seq * c.from.stride_b + row % c.seq * c.from.stride_s;
    E* to = reinterpret_cast<E*>(c.to) + row * c.heads * c.dim;
    for (int64_t h = 0; h < c.heads; ++h) {
      for (int64_t d = 0; d < c.dim; ++d) *to++ = source[h * c.from.stride_h + d * c.from.stride_d];
    }
  }
}

/// How many entries an axis of `n` has in memory.
int64_t stored(int64_t n, int64_t stride) {
  return stride == 0 ? std::min<int64_t>(n, 1) : n;
}

}  // namespace

void CompactInputs::compact(TensorView& view, const Extent& whole, std::unique_ptr<std::byte, Free>& memory,
                            const ParallelFor& parallel) {
  if (whole.dim <= 1) view.stride_d = 1;
  if (view.stride_d == 1 || out_of_memory) return;
  const Extent e = {stored(whole.batch, view.stride_b), stored(whole.seq, view.stride_s),
                    stored(whole.heads, view.stride_h), whole.dim};
  const int64_t elements = e.batch * e.seq * e.heads * e.dim;
  if (elements == 0) return;
  const int64_t bytes = elements * size_bytes(args.dtype);
  memory.reset(static_cast<std::byte*>(std::malloc(static_cast<size_t>(bytes))));
  out_of_memory = memory == nullptr;
  if (out_of_memory) return;
  Copy copy{view, memory.get(), e.batch * e.seq, e.seq, e.heads, e.dim};
  const ParallelFor::Task task = args.dtype == DType::F32 ? copy_rows<uint32_t> : copy_rows<uint16_t>;
  parallel((copy.rows + kRowsPerTask - 1) / kRowsPerTask, task, &copy);
  const auto stride = [](int64_t before, int64_t now) { return before == 0 ? 0 : now; };
  view = {memory.get(), stride(view.stride_b, e.seq * e.heads * e.dim), stride(view.stride_s, e.heads * e.dim),
          stride(view.stride_h, e.dim), 1};
  ++copied;
}

CompactInputs::CompactInputs(const AttentionArgs& given, const ParallelFor& parallel) : args(given) {
  const bool packed = given.cu_seqlens_q != nullptr;
  const int64_t batch = packed ? 1 : given.batch;
  const int64_t queries = packed ? given.cu_seqlens_q[given.batch] : given.seq_q;
  const int64_t keys = packed ? given.cu_seqlens_k[given.batch] : given.seq_kv;
  compact(args.q, {batch, queries, given.heads_q, given.head_dim}, q_, parallel);
  compact(args.k, {batch, keys, given.heads_kv, given.head_dim}, k_, parallel);
  compact(args.v, {batch, keys, given.heads_kv, given.value_dim}, v_, parallel);
}

}  // namespace tessera::kernels
