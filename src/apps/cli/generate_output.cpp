#include "apps/cli/generate_output.h"

#include "base/strings.h"
#include "media/metadata.h"
#include "media/png.h"
#include "media/video.h"

namespace tessera::cli {
namespace {

media::ImageView frame_view(const at::Tensor& frames, int64_t index) {
  const at::Tensor frame = frames[index];  // [H, W, 3]
  return {.rgb = frame.const_data_ptr<uint8_t>(), .width = frame.size(1), .height = frame.size(0)};
}

Result<std::vector<std::string>> write_frames(const at::Tensor& frames, const OutputTarget& target,
                                              const media::PngTexts& texts) {
  std::vector<std::string> files;
  for (int64_t i = 0; i < frames.size(0); ++i) {
    const auto path = target.numbered("frame", i);
    // The recipe stands in the first frame: --recipe of that file repeats the video.
    TESSERA_TRY_OK(media::write_png(path, frame_view(frames, i), i == 0 ? texts : media::PngTexts{}));
    files.push_back(path.string());
  }
  return files;
}

Result<std::vector<std::string>> write_video(const at::Tensor& frames, double fps, const OutputTarget& target,
                                             const Json& recipe) {
  const media::FramesView view{.rgb = frames.const_data_ptr<uint8_t>(),
                               .count = frames.size(0),
                               .width = frames.size(2),
                               .height = frames.size(1)};
  TESSERA_TRY_OK(media::write_mp4(target.path, view, {.fps = fps, .comment = recipe.is_null() ? "" : recipe.dump()}));
  return std::vector<std::string>{target.path.string()};
}

}  // namespace

Result<std::vector<std::string>> write_media(const pipeline::Media& media, const OutputTarget& target, int64_t index,
                                             const Json& recipe) {
  const at::Tensor frames = media.frames.contiguous();
  const media::PngTexts texts = recipe.is_null() ? media::PngTexts{} : media::recipe_texts(recipe);
  const bool is_video = media.fps > 0;
  if (target.video && !is_video) {
    return fail(ErrorCode::Usage, strings::join(target.path.string(), " takes a video, the model makes a picture"),
                "name a .png file");
  }
  if (target.video) return write_video(frames, media.fps, target, recipe);
  if (is_video && target.folder) return write_frames(frames, target, texts);
  if (is_video) {
    return fail(ErrorCode::Usage, strings::join(target.path.string(), " takes one picture, the model makes a video"),
                "name an .mp4 file, or a folder for its frames: --out DIR/");
  }
  const auto path = target.numbered("image", index);
  TESSERA_TRY_OK(media::write_png(path, frame_view(frames, 0), texts));
  return std::vector<std::string>{path.string()};
}

Status check_target(const OutputTarget& target, int64_t num_images) {
  if (num_images > 1 && !target.folder) {
    return fail(ErrorCode::Usage,
                strings::join("--out ", target.path.string(), " is one file, for ", num_images, " pictures"),
                "name a folder: --out DIR/");
  }
  return {};
}

}  // namespace tessera::cli
