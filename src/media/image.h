// Pictures as plain bytes, for every file format and measure here.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::media {

/// Bytes of another owner: [height, width, 3] uint8, red first, rows without padding.
struct ImageView {
  const uint8_t* rgb = nullptr;
  int64_t width = 0;
  int64_t height = 0;

  int64_t size_bytes() const { return width * height * 3; }
};

/// A picture with its own bytes, in the layout of ImageView.
struct Image {
  std::vector<uint8_t> rgb;
  int64_t width = 0;
  int64_t height = 0;

  ImageView view() const { return {rgb.data(), width, height}; }
};

}  // namespace tessera::media
