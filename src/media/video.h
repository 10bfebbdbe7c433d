// MP4 videos from frames, and frames from videos.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "media/image.h"

namespace tessera::media {

/// Frames of another owner: [count, height, width, 3] uint8 without padding.
struct FramesView {
  const uint8_t* rgb = nullptr;
  int64_t count = 0;
  int64_t width = 0;
  int64_t height = 0;

  ImageView frame(int64_t i) const { return {rgb + i * width * height * 3, width, height}; }
};

struct VideoOptions {
  double fps = 16;
  std::string comment;  ///< the recipe, in the file's comment tag; empty: none
};

/// Writes an MP4 (H.264, 4:2:0, BT.709) under a temporary name and renames it: all or nothing. Without an H.264 encoder
/// in this FFmpeg, MPEG-4 is written and a warning is logged.
/// Errors: Misuse (no frames, no rate), Unsupported (odd sizes), Unavailable (built without FFmpeg, or no encoder), Io.
Status write_mp4(const std::filesystem::path& path, const FramesView& frames, const VideoOptions& options);

/// A video that was read.
struct Video {
  std::vector<Image> frames;
  double fps = 0;
  std::string comment;
};

/// Every frame of the first video stream. Errors: NotFound, BadFile, Unavailable (built without FFmpeg), OutOfMemory
/// (over 4 GiB of pixels).
Result<Video> read_video(const std::filesystem::path& path);

}  // namespace tessera::media
