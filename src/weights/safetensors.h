// One safetensors file, mapped: its header and the bytes of each tensor.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "weights/header.h"
#include "weights/mapped_file.h"

namespace tessera::weights {

/// A checked file. Copies share the mapping, which lives as long as the last of them.
struct SafetensorsFile {
  std::shared_ptr<const MappedFile> file;  // shared with the tensors that look into it
  Header header;

  /// The bytes of one of its tensors, inside the mapping; not aligned to anything.
  std::string_view bytes(const TensorInfo& info) const;
};

/// Maps a file and checks its header. No tensor data is read.
/// Errors: NotFound, Io, BadFile (see parse_header), OutOfMemory.
Result<SafetensorsFile> open_safetensors(const std::filesystem::path& path);

}  // namespace tessera::weights
