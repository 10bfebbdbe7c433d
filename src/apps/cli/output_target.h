// Where --out points: one file, or a folder of numbered pictures or frames.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace tessera::cli {

/// A checked --out. `folder` holds numbered files; otherwise `path` is the one file.
struct OutputTarget {
  std::filesystem::path path;
  bool folder = false;
  bool video = false;  ///< an .mp4 file

  /// "image_00003.png" or "frame_00003.png" in the folder; the file itself for a file.
  std::filesystem::path numbered(const std::string& stem, int64_t index) const;
};

/// Checks --out before any work is done: a name ending in "/" (or an existing folder) is a folder and is created;
/// a file's folder must exist and take a new file; the suffix must be .png or .mp4.
/// Errors: Usage for another suffix or none, NotFound or Io when nothing can be written there.
Result<OutputTarget> open_output(const std::string& out);

}  // namespace tessera::cli
