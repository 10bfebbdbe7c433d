// The two-layer feed-forward part of diffusers' transformer blocks.
#pragma once

#include "tensor/aten.h"

#include "nn/activation.h"
#include "nn/linear.h"

namespace tessera::nn {

struct FeedForwardShape {
  int64_t dim = 0;
  int64_t hidden = 0;
  int64_t out = 0;
};

/// out(activation(in(x))) with diffusers' tensor names `net.0.proj` and `net.2`.
struct FeedForward {
  Linear in;
  Linear out;
  Activation activation;

  FeedForward(const weights::WeightMap& map, const FeedForwardShape& shape, Activation activation);

  /// x [..., dim] → [..., out]
  at::Tensor operator()(const at::Tensor& x) const;
};

}  // namespace tessera::nn
