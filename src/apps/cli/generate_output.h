// Writing what a request made: a picture with its recipe, a video, or numbered frames.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/output_target.h"
#include "pipeline/pipeline.h"
#include "runtime/recipe.h"

namespace tessera::cli {

/// Writes the frames of picture number `index`. `recipe` null: no metadata. Returns the files written.
/// Errors: Usage (a video to a .png file, a picture to .mp4), Io.
Result<std::vector<std::string>> write_media(const pipeline::Media& media, const OutputTarget& target, int64_t index,
                                             const Json& recipe);

/// Errors (Usage) that can be told before any work: one file for several pictures.
Status check_target(const OutputTarget& target, int64_t num_images);

}  // namespace tessera::cli
