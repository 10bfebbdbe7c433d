#include "pipeline/resize.h"

#include <gtest/gtest.h>

namespace tessera::pipeline {
namespace {

at::Tensor pattern(int64_t height, int64_t width) {
  at::Tensor out = at::empty({height, width, 3}, at::kByte);
  auto* p = out.mutable_data_ptr<uint8_t>();
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c) *p++ = static_cast<uint8_t>(y * 37 + x * 91 + c * 53 + (x * y) % 7 * 29);
    }
  }
  return out;
}

std::vector<int> values(const at::Tensor& t) {
  const auto* p = t.const_data_ptr<uint8_t>();
  return {p, p + t.numel()};
}

}  // namespace

// The expected values: PIL.Image.fromarray(pattern).resize((width, height), Image.LANCZOS).

TEST(Resize, ShrinkingRowsAndStretchingColumnsGivesPilsPixels) {
  const std::vector<int> want = {9,   66,  136, 76,  97,  113, 155, 145, 83,  128, 156, 89,  77,  145, 134,
                                 64,  125, 174, 78,  97,  157, 92,  83,  130, 113, 187, 227, 105, 151, 178,
                                 110, 96,  122, 145, 84,  144, 145, 120, 137, 113, 150, 95,  112, 113, 125,
                                 122, 76,  160, 199, 152, 91,  193, 142, 86,  167, 142, 84,  129, 174, 96,
                                 124, 154, 129, 149, 94,  147, 158, 97,  99,  157, 119, 58};
  EXPECT_EQ(values(resize_lanczos(pattern(7, 5), 3, 8)), want);
}

TEST(Resize, StretchingRowsAndShrinkingColumnsGivesPilsPixels) {
  const std::vector<int> want = {
      21,  69,  163, 157, 207, 89,  50,  99,  137, 189, 237, 107, 32,  90,  140, 138, 194, 85,  55,  111, 159, 156,
      214, 126, 55,  123, 106, 108, 167, 81,  66,  129, 190, 103, 172, 159, 94,  137, 80,  90,  140, 101, 71,  117,
      197, 77,  121, 179, 133, 106, 95,  109, 131, 152, 63,  64,  155, 118, 93,  161, 138, 79,  132, 141, 114, 167,
      78,  50,  103, 158, 98,  151, 104, 91,  165, 160, 68,  115, 136, 118, 77,  144, 124, 184, 69,  132, 195, 155,
      40,  66,  178, 196, 88,  92,  143, 215, 84,  166, 221, 129, 77,  106, 143, 187, 125, 49,  123, 189, 121, 182,
      236, 103, 131, 179, 81,  133, 158, 29,  88,  145, 144, 189, 240, 87,  166, 224, 42,  97,  179, 20,  67,  117};
  EXPECT_EQ(values(resize_lanczos(pattern(5, 6), 11, 4)), want);
}

TEST(Resize, APictureOfTheWantedSizeIsLeftAsItIs) {
  EXPECT_TRUE(at::equal(resize_lanczos(pattern(4, 6), 4, 6), pattern(4, 6)));
}

}  // namespace tessera::pipeline
