#include "media/quality.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tessera::media {
namespace {

Image pattern(int64_t width, int64_t height, int64_t twist) {
  Image image{{}, width, height};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < 3; ++c)
        image.rgb.push_back(static_cast<uint8_t>(x * 7 + y * 13 * (c + 1) + twist * x * y));
    }
  }
  return image;
}

TEST(Quality, EqualPicturesHaveNoDifference) {
  const Image a = pattern(20, 12, 0);
  const Quality q = compare(a.view(), a.view());
  EXPECT_EQ(q.max_abs_difference, 0);
  EXPECT_TRUE(std::isinf(q.psnr));
  EXPECT_EQ(q.ssim, 1);
}

TEST(Quality, OneLevelInOnePixelIsCounted) {
  const Image a = pattern(10, 10, 0);
  Image b = a;
  b.rgb[31] = static_cast<uint8_t>(b.rgb[31] ^ 1);
  const Quality q = compare(a.view(), b.view());
  EXPECT_EQ(q.max_abs_difference, 1);
  EXPECT_DOUBLE_EQ(q.different_pixels, 0.01);
  EXPECT_NEAR(q.psnr, 10 * std::log10(255.0 * 255.0 * 300), 1e-9);
  EXPECT_GT(q.ssim, 0.99);
}

// Expected values: NumPy in float64 with the window written out as an 11x11 sum over a symmetrically padded picture.
TEST(Quality, EqualsADirectComputation) {
  const struct {
    int64_t width, height;
    double ssim, psnr;
  } cases[] = {{24, 17, -0.11328530216793421, 8.37069218805728}, {6, 4, 0.9874943581217895, 33.06800877407034}};
  for (const auto& c : cases) {
    const Quality q = compare(pattern(c.width, c.height, 0).view(), pattern(c.width, c.height, 1).view());
    EXPECT_NEAR(q.ssim, c.ssim, 1e-9) << c.width;
    EXPECT_NEAR(q.psnr, c.psnr, 1e-9) << c.width;
  }
}

}  // namespace
}  // namespace tessera::media
