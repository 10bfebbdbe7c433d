// Whole-file reading and all-or-nothing writing.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::file {

/// The bytes of a file. If `path` is missing but `path`.gz exists, that one is inflated instead.
/// Errors: NotFound, Io (unreadable, a folder), BadFile (damaged gzip stream), OutOfMemory (over 1 GiB).
Result<std::string> read_text(const std::filesystem::path& path);

/// True if `path` or `path`.gz is a readable regular file.
bool exists(const std::filesystem::path& path);

/// Writes to a temporary name beside `path` and renames: after a failure nothing is left, an old file stays whole.
/// Errors: Io with the system's reason.
Status write_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace tessera::file
