#include "apps/cli/output_target.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace tessera::cli {

class OutputTargetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tessera_output_test_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  bool empty() const { return std::filesystem::is_empty(folder_); }
  std::filesystem::path folder_;
};

TEST_F(OutputTargetTest, AFileKeepsItsNameAndNothingIsLeftBehind) {
  const auto target = open_output((folder_ / "a.png").string());
  ASSERT_TRUE(target);
  EXPECT_EQ(target->numbered("image", 7), folder_ / "a.png");
  EXPECT_TRUE(empty());
}

TEST_F(OutputTargetTest, ATrailingSlashMakesAFolderOfNumberedFiles) {
  const auto target = open_output((folder_ / "new/deep/").string());
  ASSERT_TRUE(target);
  EXPECT_EQ(target->numbered("frame", 12).filename(), "frame_00012.png");
}

TEST_F(OutputTargetTest, AVideoIsKnownByItsSuffix) {
  EXPECT_TRUE(open_output((folder_ / "a.MP4").string())->video);
  EXPECT_FALSE(open_output((folder_ / "a.png").string())->video);
}

TEST_F(OutputTargetTest, WrongNamesAreRefusedBeforeAnyWork) {
  EXPECT_EQ(open_output("").error().code, ErrorCode::Usage);
  EXPECT_EQ(open_output((folder_ / "a.jpg").string()).error().code, ErrorCode::Usage);
  EXPECT_EQ(open_output((folder_ / "no/such/a.png").string()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(open_output("/proc/a.png").error().code, ErrorCode::Io);
}

}  // namespace tessera::cli
