#include "apps/cli/progress_bar.h"

#include <gtest/gtest.h>

namespace tessera::cli {

TEST(ProgressBar, SaysStepsSpeedAndTimeLeft) {
  const std::string line = bar_line("denoise", 5, 20, 2.5);
  EXPECT_NE(line.find("5/20"), std::string::npos) << line;
  EXPECT_NE(line.find("2.00 it/s"), std::string::npos) << line;
  EXPECT_NE(line.find("8 s left"), std::string::npos) << line;
}

TEST(ProgressBar, HasNoSpeedBeforeTheFirstStep) {
  EXPECT_EQ(bar_line("denoise", 0, 20, 0).find("it/s"), std::string::npos);
}

}  // namespace tessera::cli
