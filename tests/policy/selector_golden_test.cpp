#include "apps/golden_check/selector.h"

#include <gtest/gtest.h>

namespace tessera::golden {

TEST(SelectorGolden, EveryRowIsEqualOrANamedDeparture) {
  const GoldenReport report = check_selector(TESSERA_SOURCE_DIR "/tests/golden/selector");
  EXPECT_EQ(report.checked, 1598);
  for (std::size_t i = 0; i < report.failed.size() && i < 200; ++i) {
    const GoldenFailure& f = report.failed[i];
    ADD_FAILURE() << f.name << ": " << f.what << " is " << f.got << ", the reference has " << f.want;
  }
  for (const auto& [code, n] : report.deviations) RecordProperty(code, static_cast<int>(n));
}

}  // namespace tessera::golden
