// Sinusoidal embedding of a time (or guidance) value and the small network after it.
#pragma once

#include "tensor/aten.h"

#include "nn/linear.h"

namespace tessera::nn {

/// How the sines are laid out; the defaults are those of the flow-matching transformers.
struct SinusoidOptions {
  int64_t dim = 256;
  bool cos_first = true;  ///< diffusers: flip_sin_to_cos
  double downscale_freq_shift = 0;
  double scale = 1;
  double max_period = 10000;
};

/// Shapes: t [N] (any number type, may be fractional) → [N, dim] float32.
at::Tensor sinusoidal_embedding(const at::Tensor& t, const SinusoidOptions& options = {});

/// linear_2(silu(linear_1(x))): diffusers' TimestepEmbedding and, with the same names, its text projection.
struct TimestepEmbedding {
  Linear linear_1;
  Linear linear_2;

  TimestepEmbedding(const weights::WeightMap& map, int64_t in, int64_t dim);

  /// x [..., in] → [..., dim]
  at::Tensor operator()(const at::Tensor& x) const;
};

}  // namespace tessera::nn
