// `tessera generate` with a tiny Wan pipeline as a user calls it: what arrives in the MP4 file and in the frames.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include "apps/cli/commands.h"
#include "base/json.h"
#include "media/png.h"
#include "media/video.h"
#include "tests/support/temporary_folder.h"

namespace tessera::cli {
namespace {

const std::string kCase = TESSERA_SOURCE_DIR "/tests/golden/pipelines/wan2.2-ti2v-i2v-small";
constexpr size_t kFrames = 9;

/// Runs `tessera generate --json` on the tiny model.
Status generate(const std::filesystem::path& out, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"generate",
                                        "--model",
                                        kCase + "/model",
                                        "--prompt",
                                        "a fox",
                                        "--image",
                                        kCase + "/input_image.png",
                                        "--height",
                                        "64",
                                        "--width",
                                        "32",
                                        "--num-frames",
                                        "9",
                                        "--steps",
                                        "2",
                                        "--fps",
                                        "12",
                                        "--seed",
                                        "5",
                                        "--max-sequence-length",
                                        "16",
                                        "--json",
                                        "--out",
                                        out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  CLI::App app;
  SharedOptions shared;
  const Command command = add_generate(app, shared);
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  app.parse(arguments);
  ::testing::internal::CaptureStdout();
  const Status status = command.action();
  ::testing::internal::GetCapturedStdout();
  return status;
}

/// The mean difference of brightness, in levels: the file keeps it for every pixel, but colours for every fourth only.
double brightness_difference(const media::Image& a, const media::Image& b) {
  const auto brightness = [](const media::Image& image, size_t pixel) {  // BT.709
    const uint8_t* rgb = &image.rgb[3 * pixel];
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];
  };
  const size_t pixels = a.rgb.size() / 3;
  double sum = 0;
  for (size_t i = 0; i < pixels; ++i) sum += std::abs(brightness(a, i) - brightness(b, i));
  return sum / static_cast<double>(pixels);
}

}  // namespace

TEST(GenerateVideo, TheFileHasTheFramesTheSizeTheRateAndTheRecipe) {
  const test::TemporaryFolder folder;
  const Status written = generate(folder / "fox.mp4");
  if (!written && written.error().code == ErrorCode::Unavailable) GTEST_SKIP() << written.error().line();
  ASSERT_TRUE(written) << written.error().line();
  const media::Video video = media::read_video(folder / "fox.mp4").value();
  ASSERT_EQ(video.frames.size(), kFrames);
  EXPECT_DOUBLE_EQ(video.fps, 12);
  const Json recipe = Json::parse(video.comment);
  EXPECT_EQ(recipe["request"]["prompt"], "a fox");
  EXPECT_EQ(recipe["request"]["num_frames"], 9);
  for (const media::Image& frame : video.frames) {
    EXPECT_EQ(frame.width, 32);
    EXPECT_EQ(frame.height, 64);
  }
}

TEST(GenerateVideo, FramesOfTheFileAreThoseOfTheFolderInTheirOrder) {
  const test::TemporaryFolder folder;
  const Status written = generate(folder / "fox.mp4");
  if (!written && written.error().code == ErrorCode::Unavailable) GTEST_SKIP() << written.error().line();
  ASSERT_TRUE(written) << written.error().line();
  ASSERT_TRUE(generate(folder.path().string() + "/frames/"));
  const media::Video video = media::read_video(folder / "fox.mp4").value();
  std::vector<media::Image> exact;
  for (size_t i = 0; i < kFrames; ++i) {
    exact.push_back(media::read_png(folder / ("frames/frame_0000" + std::to_string(i) + ".png")).value().image);
  }
  ASSERT_EQ(video.frames.size(), kFrames);
  for (size_t i = 0; i < kFrames; ++i) {
    // The codec loses details, but a frame stays nearer to its own original than to any other.
    const auto nearest = std::ranges::min_element(
        exact, {}, [&](const media::Image& original) { return brightness_difference(video.frames[i], original); });
    EXPECT_EQ(nearest - exact.begin(), static_cast<ptrdiff_t>(i));
    EXPECT_LT(brightness_difference(video.frames[i], exact[i]), 6) << "frame " << i;
  }
}

TEST(GenerateVideo, AVideoIsNotWrittenAsOnePicture) {
  const test::TemporaryFolder folder;
  const Status written = generate(folder / "fox.png");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::Usage);
  EXPECT_NE(written.error().line().find(".mp4"), std::string::npos) << written.error().line();
  EXPECT_FALSE(std::filesystem::exists(folder / "fox.png"));
}

}  // namespace tessera::cli
