// How a call is cut: strips of queries (one query a vector lane), chunks of strips (one task each), blocks of keys.
#pragma once

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

/// The tasks of a whole call.
struct Plan {
  int64_t lanes = 1;
  int64_t strips_per_head = 0;  ///< of the longest sequence
  int64_t strips_per_task = 0;
  int64_t tasks_per_head = 0;
  int64_t tasks = 0;
};

/// Chooses the chunk size for `threads`; it changes which strips share packed keys, never a result.
/// `strip_bytes`: state of one strip (queries, output), of which a chunk's total must stay in the second-level cache.
Plan make_plan(const AttentionArgs& args, int64_t lanes, int64_t strip_bytes, int threads);

/// The calling thread's scratch memory of at least `bytes`, 64-byte aligned, valid until its next call; nullptr when
/// there is no memory. Kept between calls, so that small problems do not pay for it.
std::byte* thread_scratch(int64_t bytes);

}  // namespace tessera::kernels
