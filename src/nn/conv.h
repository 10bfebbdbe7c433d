// Two-dimensional convolution, for the image autoencoders.
#pragma once

#include "tensor/aten.h"

#include "weights/weight_map.h"

namespace tessera::nn {

struct ConvShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t padding = 1;
};

/// A square convolution with bias.
struct Conv2d {
  at::Tensor weight;  // [out, in, kernel, kernel]
  at::Tensor bias;    // [out]
  int64_t stride;
  int64_t padding;

  /// Errors: throws RuntimeFault{BadFile} when a tensor is missing or has another shape.
  Conv2d(const weights::WeightMap& map, const ConvShape& shape);

  /// x [B, in, H, W] → [B, out, H', W']
  at::Tensor operator()(const at::Tensor& x) const;
};

/// Every pixel becomes a square of 2×2. x [B, C, H, W] → [B, C, 2H, 2W]
at::Tensor upsample_nearest_2x(const at::Tensor& x);

}  // namespace tessera::nn
