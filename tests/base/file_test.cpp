#include "base/file.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace tessera::file {

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tessera_file_test_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(FileTest, WritesAndReadsBack) {
  ASSERT_TRUE(write_atomically(folder_ / "a.txt", "hello"));
  EXPECT_EQ(read_text(folder_ / "a.txt").value(), "hello");
}

TEST_F(FileTest, AFailedWriteLeavesNothing) {
  EXPECT_FALSE(write_atomically(folder_ / "no" / "a.txt", "hello"));
  ASSERT_TRUE(std::filesystem::create_directory(folder_ / "taken"));
  EXPECT_FALSE(write_atomically(folder_ / "taken", "hello"));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++entries;
  EXPECT_EQ(entries, 1u);
}

TEST_F(FileTest, ReadsAGzippedTwin) {
  ASSERT_TRUE(write_atomically(folder_ / "v.json", "{\"a\": 1}"));
  ASSERT_EQ(std::system(("gzip " + (folder_ / "v.json").string()).c_str()), 0);
  EXPECT_TRUE(file::exists(folder_ / "v.json"));
  EXPECT_EQ(read_text(folder_ / "v.json").value(), "{\"a\": 1}");
}

TEST_F(FileTest, ATruncatedGzipIsABadFile) {
  ASSERT_TRUE(write_atomically(folder_ / "v", std::string(100000, 'x') + "tail"));
  ASSERT_EQ(std::system(("gzip " + (folder_ / "v").string()).c_str()), 0);
  std::filesystem::resize_file(folder_ / "v.gz", std::filesystem::file_size(folder_ / "v.gz") / 2);
  const auto text = read_text(folder_ / "v");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::BadFile);
}

TEST_F(FileTest, AMissingFileIsNotFound) {
  EXPECT_EQ(read_text(folder_ / "none").error().code, ErrorCode::NotFound);
  EXPECT_EQ(read_text(folder_).error().code, ErrorCode::Io);
}

}  // namespace tessera::file
