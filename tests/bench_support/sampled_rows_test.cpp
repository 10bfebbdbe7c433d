// The rows that stand for a long problem.
#include "bench_support/sampled_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::bench_support {
namespace {

TEST(SampledRows, ShortProblemsAreLookedAtWhole) {
  EXPECT_EQ(sampled_rows(3), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(sampled_rows(8192).size(), 8192U);
  EXPECT_TRUE(sampled_rows(0).empty());
}

TEST(SampledRows, LongOnesByTheirEndsTheirTileBordersAndASpread) {
  for (const int64_t seq : {int64_t{8193}, int64_t{75600}, int64_t{32768}}) {
    const auto rows = sampled_rows(seq);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_EQ(std::adjacent_find(rows.begin(), rows.end()), rows.end()) << "twice the same row";
    EXPECT_LE(rows.size(), 80U);
    EXPECT_GE(rows.size(), 64U);
    EXPECT_GE(rows.front(), 0);
    const int64_t last_tile = (seq - 1) / 128 * 128;
    for (const int64_t row : {int64_t{0}, int64_t{127}, int64_t{128}, last_tile - 1, last_tile, seq - 1}) {
      EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), row)) << row << " of " << seq;
    }
  }
}

}  // namespace
}  // namespace tessera::bench_support
