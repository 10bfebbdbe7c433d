// How much two pictures differ.
#pragma once

#include <limits>

#include "media/image.h"

namespace tessera::media {

struct Quality {
  int64_t max_abs_difference = 0;                         ///< levels of 255
  double different_pixels = 0;                            ///< share of pixels that differ in any channel
  double psnr = std::numeric_limits<double>::infinity();  ///< dB over all channels; infinite for equal pictures
  double ssim = 1;
};

/// Both pictures must have the same size (checked by the caller).
/// SSIM: Gaussian windows of 11x11, sigma 1.5, K1 0.01, K2 0.03, per channel, then the mean; windows that would leave
/// the picture are left out (in a picture smaller than a window: mirrored at the edge).
/// Source: Wang, Bovik, Sheikh, Simoncelli 2004, "Image quality assessment: from error visibility to structural
/// similarity"; equal to scikit-image's structural_similarity with gaussian_weights and population covariance.
Quality compare(const ImageView& a, const ImageView& b);

}  // namespace tessera::media
