// How a call is cut: strips of queries (one query a vector lane), chunks of strips, tasks of chunks; and its memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/problem.h"

namespace tessera::kernels {

/// Vectors of queries in one register tile.
inline constexpr int kTileVectors = 3;

/// The strips of one sequence: the queries of each head group in vectors of `lanes`, shared out evenly, at most
/// kTileVectors a strip. Strip s belongs to group s / per_group.
struct StripGrid {
  int64_t seq_q = 0;
  int64_t lanes = 1;
  int64_t per_group = 0;
  int64_t base = 0;   ///< vectors of a short strip
  int64_t extra = 0;  ///< the first `extra` strips have one vector more

  StripGrid(int64_t seq_q_, int64_t lanes_) : seq_q(seq_q_), lanes(lanes_) {
    const int64_t vectors = (seq_q + lanes - 1) / lanes;
    per_group = (vectors + kTileVectors - 1) / kTileVectors;
    if (per_group == 0) return;
    base = vectors / per_group;
    extra = vectors % per_group;
  }
  int64_t first_query(int64_t strip) const { return (strip * base + (strip < extra ? strip : extra)) * lanes; }
  int vectors(int64_t strip) const { return static_cast<int>(base + (strip < extra ? 1 : 0)); }
};

/// What make_plan has to know of an arithmetic.
struct PlanInput {
  int64_t lanes = 1;
  int64_t group_keys = 1;   ///< keys that are packed and folded together
  int64_t strip_bytes = 1;  ///< state of one strip (queries, output): a chunk's total stays in the second-level cache
  double pack_cost = 1;     ///< of packing keys, in strips that they are folded into
  int threads = 1;
};

/// The tasks of a whole call. A task is a share of one head's strips, done a chunk at a time.
struct Plan {
  int64_t strips_per_head = 0;  ///< of the longest sequence
  int64_t strips_per_chunk = 0;
  int64_t strips_per_task = 0;
  int64_t tasks_per_head = 0;
  int64_t tasks = 0;
  int64_t groups_per_head = 0;  ///< groups of packed keys of the longest sequence
  int copies = 0;               ///< how many heads' packed keys are kept at once, so that later chunks need not pack
};

/// Chooses chunks and tasks for a number of threads; it changes who shares packed keys, never a result.
Plan make_plan(const AttentionArgs& args, const PlanInput& in);

/// Memory for the packed keys of some heads, one a running task; taken and given back by tasks of any threads.
class KeyCopies {
 public:
  KeyCopies() = default;
  KeyCopies(const KeyCopies&) = delete;
  KeyCopies& operator=(const KeyCopies&) = delete;
  ~KeyCopies();

  /// At most 64 copies of `bytes`; without memory there are none, and tasks pack for each chunk.
  void make(int copies, int64_t bytes);
  /// One that nobody has; nullptr when there is none.
  std::byte* take();
  void give_back(const std::byte* copy);
  int64_t bytes() const { return memory_ == nullptr ? 0 : stride_ * copies_; }

 private:
  std::byte* memory_ = nullptr;
  int64_t stride_ = 0;
  int copies_ = 0;
  std::atomic<uint64_t> free_ = 0;
};

/// The calling thread's scratch memory of at least `bytes`, 64-byte aligned, valid until its next call; nullptr when
/// there is no memory. Kept between calls, so that small problems do not pay for it.
std::byte* thread_scratch(int64_t bytes);

}  // namespace tessera::kernels
