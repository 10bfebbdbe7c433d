#include "weights/safetensors.h"

namespace tessera::weights {

std::string_view SafetensorsFile::bytes(const TensorInfo& info) const {
  return file->bytes().substr(static_cast<size_t>(info.begin_bytes), static_cast<size_t>(info.size_bytes()));
}

Result<SafetensorsFile> open_safetensors(const std::filesystem::path& path) {
  TESSERA_TRY(auto file, MappedFile::open(path));
  TESSERA_TRY(Header header, parse_header(file->bytes(), path.string()));
  return SafetensorsFile{std::move(file), std::move(header)};
}

}  // namespace tessera::weights
