// Takes the place of the video files where FFmpeg's libraries were not found.
#include "media/video.h"

namespace tessera::media {
namespace {

std::unexpected<Error> unavailable() {
  return fail(
      ErrorCode::Unavailable, "this build has no video: FFmpeg's libraries were not found",
      "install libavcodec-dev, libavformat-dev and libswscale-dev and build again, or write frames to a folder");
}

}  // namespace

Status write_mp4(const std::filesystem::path&, const FramesView&, const VideoOptions&) {
  return unavailable();
}

Result<Video> read_video(const std::filesystem::path&) {
  return unavailable();
}

}  // namespace tessera::media
