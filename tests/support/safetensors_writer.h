// Makes small weight files for tests, valid or broken on purpose.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace tessera::test {

/// A file's bytes: the length of `header`, `header`, `data`.
inline std::string safetensors_bytes(const std::string& header, const std::string& data = {}) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i)));
  return bytes + header + data;
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace tessera::test
