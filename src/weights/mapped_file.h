// A whole file mapped read-only into memory, for weights that must not be copied.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace tessera::weights {

/// The bytes of a file as the system pages them in. Lives as long as any tensor that looks into it, so it is shared.
/// The size is fixed when it is opened: a file that another program cuts short later raises SIGBUS on the next touch,
/// as with every mapping. Replacing a file by renaming a new one over it is safe.
class MappedFile {
 public:
  /// Errors: NotFound, Io (a folder, no permission), OutOfMemory (no room in the address space).
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

  /// Tells the system that these bytes are not needed soon, so that they leave the resident set. They stay readable.
  /// Only whole pages inside `part` go; a part outside of this file is ignored.
  void drop_pages(std::string_view part) const;

 private:
  MappedFile(std::filesystem::path path, std::string_view bytes);
  std::filesystem::path path_;
  std::string_view bytes_;
};

}  // namespace tessera::weights
