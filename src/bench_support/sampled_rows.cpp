#include "bench_support/sampled_rows.h"

#include <numeric>
#include <set>

namespace tessera::bench_support {

std::vector<int64_t> sampled_rows(int64_t seq, int64_t all_up_to, int64_t spread) {
  std::vector<int64_t> rows;
  if (seq <= all_up_to) {
    rows.resize(static_cast<size_t>(seq));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }
  std::set<int64_t> chosen = {0, seq - 1};
  for (const int64_t tile : {64, 128, 256}) {
    const int64_t last = (seq - 1) / tile * tile;  // the first row of the last, perhaps partial, tile
    for (const int64_t border : {tile, last}) chosen.insert({border - 1, border});
  }
  for (int64_t i = 0; i < spread; ++i) chosen.insert(i * (seq - 1) / std::max<int64_t>(1, spread - 1));
  return {chosen.begin(), chosen.end()};
}

}  // namespace tessera::bench_support
