// Which query rows of a long problem are compared with the reference.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::bench_support {

/// Sorted row numbers: all of `seq` where that is at most `all_up_to`; else both sides of every border of the first and
/// last tiles of 64, 128 and 256 rows, and `spread` rows evenly between the first and the last.
std::vector<int64_t> sampled_rows(int64_t seq, int64_t all_up_to = 8192, int64_t spread = 64);

}  // namespace tessera::bench_support
