#include "kernels/plan.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace tessera::kernels {
namespace {

// Queries and output of one chunk: leaves half of a 2 MiB second-level cache to the key block and the scores.
// 960 queries at D = 128 (1 MiB) beat 480 by 1-7 % and 192 by far; measured on two AVX-512 cores, 2026-11-30.
constexpr int64_t kChunkBytes = 1 << 20;
// The strips to be done again are marked in one 64-bit word.
constexpr int64_t kMostStrips = 64;
// Packing the keys again for one more chunk costs about as much as this many strips.
constexpr double kChunkOverhead = 1.0;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};

}  // namespace

Plan make_plan(const AttentionArgs& args, int64_t lanes, int64_t strip_bytes, int threads) {
  Plan plan;
  plan.lanes = lanes;
  const StripGrid grid(longest_query(args), lanes);
  plan.strips_per_head = grid.per_group * (args.heads_q / args.heads_kv);
  const int64_t heads = args.batch * args.heads_kv;
  if (plan.strips_per_head == 0 || heads == 0) return plan;
  const int64_t most = std::max<int64_t>(1, std::min({plan.strips_per_head, kMostStrips, kChunkBytes / strip_bytes}));
  double best = 0;
  for (int64_t n = most; n >= 1; --n) {
    const int64_t per_head = (plan.strips_per_head + n - 1) / n;
    const int64_t even = (plan.strips_per_head + per_head - 1) / per_head;
    const int64_t rounds = (heads * per_head + threads - 1) / threads;
    const double cost = static_cast<double>(rounds) * (static_cast<double>(even) + kChunkOverhead);
    if (best != 0 && cost >= best) continue;
    best = cost, plan.strips_per_task = even, plan.tasks_per_head = per_head;
    if (threads <= 1) break;
  }
  plan.tasks = heads * plan.tasks_per_head;
  return plan;
}

std::byte* thread_scratch(int64_t bytes) {
  thread_local std::unique_ptr<std::byte, Free> memory;
  thread_local int64_t size = 0;
  if (bytes <= size) return memory.get();
  const int64_t rounded = (bytes + 4095) / 4096 * 4096;
  memory.reset(static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<size_t>(rounded))));
  size = memory == nullptr ? 0 : rounded;
  return memory.get();
}

}  // namespace tessera::kernels
