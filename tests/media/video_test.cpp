// Videos out and in again; skipped where the build has no FFmpeg.
#include "media/video.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "media/quality.h"
#include "tests/support/temporary_folder.h"

namespace tessera::media {
namespace {

/// A soft gradient that moves a little with each frame: what a video codec keeps almost exactly.
std::vector<uint8_t> gradient(int64_t count, int64_t width, int64_t height) {
  std::vector<uint8_t> rgb;
  for (int64_t f = 0; f < count; ++f) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        rgb.push_back(static_cast<uint8_t>(40 + 2 * x + 4 * f));
        rgb.push_back(static_cast<uint8_t>(30 + 3 * y));
        rgb.push_back(static_cast<uint8_t>(200 - x));
      }
    }
  }
  return rgb;
}

class VideoFile : public ::testing::Test {
 protected:
  Status write(const std::filesystem::path& path, int64_t count, int64_t width, int64_t height, VideoOptions options) {
    pixels_ = gradient(count, width, height);
    const Status status = write_mp4(path, {pixels_.data(), count, width, height}, options);
    missing_ = !status && status.error().code == ErrorCode::Unavailable;
    return status;
  }
  size_t entries() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& e : std::filesystem::directory_iterator(folder_.path())) ++n;
    return n;
  }
  test::TemporaryFolder folder_;
  std::vector<uint8_t> pixels_;
  bool missing_ = false;
};

TEST_F(VideoFile, FramesRateAndRecipeComeBack) {
  const Status written = write(folder_ / "a.mp4", 9, 48, 32, {24, "{\"prompt\": \"größe\"}"});
  if (missing_) GTEST_SKIP() << written.error().line();
  ASSERT_TRUE(written) << written.error().line();
  EXPECT_EQ(entries(), 1u);
  const Video video = read_video(folder_ / "a.mp4").value();
  EXPECT_EQ(video.comment, "{\"prompt\": \"größe\"}");
  EXPECT_DOUBLE_EQ(video.fps, 24);
  ASSERT_EQ(video.frames.size(), 9u);
  for (size_t i = 0; i < 9; ++i) {
    const ImageView want{pixels_.data() + i * 48 * 32 * 3, 48, 32};
    EXPECT_GT(compare(video.frames[i].view(), want).psnr, 30) << "frame " << i;
  }
}

TEST_F(VideoFile, OneFrameIsAVideoToo) {
  const Status written = write(folder_ / "a.mp4", 1, 16, 16, {16, ""});
  if (missing_) GTEST_SKIP() << written.error().line();
  ASSERT_TRUE(written) << written.error().line();
  EXPECT_EQ(read_video(folder_ / "a.mp4").value().frames.size(), 1u);
}

TEST_F(VideoFile, AFailedWriteLeavesNothing) {
  EXPECT_FALSE(write(folder_ / "none/a.mp4", 2, 16, 16, {16, ""}));
  EXPECT_FALSE(write(folder_ / "a.mp4", 2, 15, 16, {16, ""}));
  EXPECT_FALSE(write(folder_ / "a.mp4", 2, 16, 16, {0, ""}));
  EXPECT_FALSE(write(folder_ / "a.mp4", 0, 16, 16, {16, ""}));
  ASSERT_TRUE(std::filesystem::create_directory(folder_ / "taken.mp4"));
  EXPECT_FALSE(write(folder_ / "taken.mp4", 2, 16, 16, {16, ""}));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(VideoFile, DamagedFilesAreRefused) {
  const Status written = write(folder_ / "a.mp4", 4, 32, 32, {16, ""});
  if (missing_) GTEST_SKIP() << written.error().line();
  ASSERT_TRUE(file::write_atomically(folder_ / "text.mp4", "this is no video"));
  EXPECT_EQ(read_video(folder_ / "text.mp4").error().code, ErrorCode::BadFile);
  EXPECT_EQ(read_video(folder_ / "none.mp4").error().code, ErrorCode::NotFound);
  const std::string whole = file::read_text(folder_ / "a.mp4").value();
  ASSERT_TRUE(file::write_atomically(folder_ / "cut.mp4", std::string_view(whole).substr(0, 200)));
  EXPECT_FALSE(read_video(folder_ / "cut.mp4"));
}

}  // namespace
}  // namespace tessera::media
