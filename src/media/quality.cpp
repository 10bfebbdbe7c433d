#include "media/quality.h"

#include <array>
#include <cmath>
#include <cstdlib>

#include "base/check.h"

namespace tessera::media {
namespace {

constexpr int64_t kRadius = 5;
constexpr double kSigma = 1.5;
using Plane = std::vector<double>;  // [height, width]

std::array<double, 2 * kRadius + 1> gaussian() {
  std::array<double, 2 * kRadius + 1> window{};
  double sum = 0;
  for (int64_t i = -kRadius; i <= kRadius; ++i) {
    const auto x = static_cast<double>(i);
    sum += window[static_cast<size_t>(i + kRadius)] = std::exp(-x * x / (2 * kSigma * kSigma));
  }
  for (double& w : window) w /= sum;
  return window;
}

/// Position `i` of n mirrored at the edges, the edge itself repeated: -1 → 0, n → n - 1.
int64_t mirrored(int64_t i, int64_t n) {
  const int64_t at = ((i % (2 * n)) + 2 * n) % (2 * n);
  return at < n ? at : 2 * n - 1 - at;
}

/// Gaussian mean along one axis: `count` values `stride` apart, for every line that begins at `begin`.
void smooth_line(const double* in, double* out, int64_t count, int64_t stride) {
  static const auto window = gaussian();
  for (int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (int64_t k = -kRadius; k <= kRadius; ++k) {
      const int64_t at = i + k >= 0 && i + k < count ? i + k : mirrored(i + k, count);
      sum += window[static_cast<size_t>(k + kRadius)] * in[at * stride];
    }
    out[i * stride] = sum;
  }
}

Plane smooth(const Plane& in, int64_t width, int64_t height) {
  Plane rows(in.size());
  Plane out(in.size());
  for (int64_t y = 0; y < height; ++y) smooth_line(&in[y * width], &rows[y * width], width, 1);
  for (int64_t x = 0; x < width; ++x) smooth_line(&rows[x], &out[x], height, width);
  return out;
}

Plane channel(const ImageView& image, int64_t c) {
  Plane plane(static_cast<size_t>(image.width * image.height));
  for (size_t i = 0; i < plane.size(); ++i) plane[i] = image.rgb[i * 3 + static_cast<size_t>(c)];
  return plane;
}

Plane product(const Plane& a, const Plane& b) {
  Plane out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = a[i] * b[i];
  return out;
}

double ssim_of_channel(const Plane& a, const Plane& b, int64_t width, int64_t height) {
  const double c1 = 0.01 * 255 * 0.01 * 255;
  const double c2 = 0.03 * 255 * 0.03 * 255;
  const Plane ma = smooth(a, width, height);
  const Plane mb = smooth(b, width, height);
  const Plane aa = smooth(product(a, a), width, height);
  const Plane bb = smooth(product(b, b), width, height);
  const Plane ab = smooth(product(a, b), width, height);
  const bool whole_window = width > 2 * kRadius && height > 2 * kRadius;
  const int64_t border = whole_window ? kRadius : 0;
  double sum = 0;
  for (int64_t y = border; y < height - border; ++y) {
    for (int64_t x = border; x < width - border; ++x) {
      const auto i = static_cast<size_t>(y * width + x);
      const double means = ma[i] * ma[i] + mb[i] * mb[i];
      const double variances = aa[i] + bb[i] - means;
      sum += (2 * ma[i] * mb[i] + c1) * (2 * (ab[i] - ma[i] * mb[i]) + c2) / ((means + c1) * (variances + c2));
    }
  }
  return sum / static_cast<double>((width - 2 * border) * (height - 2 * border));
}

}  // namespace

Quality compare(const ImageView& a, const ImageView& b) {
  TESSERA_CHECK(a.width == b.width && a.height == b.height, "pictures of different sizes");
  Quality quality;
  int64_t squares = 0;
  int64_t pixels = 0;
  for (int64_t i = 0; i < a.width * a.height; ++i) {
    int64_t largest = 0;
    for (int64_t c = 0; c < 3; ++c) {
      const int64_t d = std::abs(a.rgb[i * 3 + c] - b.rgb[i * 3 + c]);
      largest = std::max(largest, d);
      squares += d * d;
    }
    quality.max_abs_difference = std::max(quality.max_abs_difference, largest);
    pixels += largest > 0 ? 1 : 0;
  }
  if (pixels == 0) return quality;
  quality.different_pixels = static_cast<double>(pixels) / static_cast<double>(a.width * a.height);
  quality.psnr = 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.size_bytes()) / static_cast<double>(squares));
  quality.ssim = 0;
  for (int64_t c = 0; c < 3; ++c) {
    quality.ssim += ssim_of_channel(channel(a, c), channel(b, c), a.width, a.height) / 3;
  }
  return quality;
}

}  // namespace tessera::media
