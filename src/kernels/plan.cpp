#include "kernels/plan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>

namespace tessera::kernels {
namespace {

// Queries and output of one chunk: leaves half of a 2 MiB second-level cache to the key block and the scores.
// 960 queries at D = 128 (1 MiB) beat 480 by 1-7 % and 192 by far; measured on two AVX-512 cores, 2026-11-30.
constexpr int64_t kChunkBytes = 1 << 20;
// The strips to be done again are marked in one 64-bit word.
constexpr int64_t kMostStrips = 64;
constexpr int kMostCopies = 64;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};

int64_t share(int64_t n, int64_t parts) {
  return (n + parts - 1) / parts;
}

}  // namespace

Plan make_plan(const AttentionArgs& args, const PlanInput& in) {
  Plan plan;
  const StripGrid grid(longest_query(args), in.lanes);
  plan.strips_per_head = grid.per_group * (args.heads_q / args.heads_kv);
  const int64_t heads = args.batch * args.heads_kv;
  if (plan.strips_per_head == 0 || heads == 0) return plan;
  const int64_t most =
      std::max<int64_t>(1, std::min({plan.strips_per_head, kMostStrips, kChunkBytes / in.strip_bytes}));
  // One copy a thread is no more than one copy of all keys where there is a head for every thread.
  const bool keeps = in.threads <= heads && in.threads <= kMostCopies;
  double best = 0;
  for (int64_t parts = 1; parts <= plan.strips_per_head; ++parts) {
    const int64_t strips = share(plan.strips_per_head, parts);
    const int64_t chunks = share(strips, most);
    const int64_t rounds = share(heads * parts, in.threads);
    const double cost = static_cast<double>(rounds) *
                        (static_cast<double>(strips) + in.pack_cost * static_cast<double>(keeps ? 1 : chunks));
    if (best != 0 && cost >= best) continue;
    best = cost, plan.strips_per_task = strips, plan.strips_per_chunk = share(strips, chunks);
    plan.copies = keeps && chunks > 1 ? in.threads : 0;
    if (in.threads <= 1) break;
  }
  plan.tasks_per_head = share(plan.strips_per_head, plan.strips_per_task);
  plan.tasks = heads * plan.tasks_per_head;
  plan.groups_per_head = share(longest_keys(args), in.group_keys);
  return plan;
}

KeyCopies::~KeyCopies() {
  std::free(memory_);
}

void KeyCopies::make(int copies, int64_t bytes) {
  stride_ = (bytes + 4095) / 4096 * 4096;
  copies_ = std::min(copies, kMostCopies);
  memory_ = static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<size_t>(stride_ * copies_)));
  if (memory_ != nullptr) free_ = copies_ == kMostCopies ? ~0ULL : (1ULL << copies_) - 1;
}

std::byte* KeyCopies::take() {
  uint64_t seen = free_.load(std::memory_order_relaxed);
  while (seen != 0 && !free_.compare_exchange_weak(seen, seen & (seen - 1), std::memory_order_acquire)) {
  }
  return seen == 0 ? nullptr : memory_ + std::countr_zero(seen) * stride_;
}

void KeyCopies::give_back(const std::byte* copy) {
  if (copy != nullptr) free_.fetch_or(1ULL << ((copy - memory_) / stride_), std::memory_order_release);
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
