// Layer, RMS and group normalisation.
#pragma once

#include "tensor/aten.h"

#include "weights/weight_map.h"

namespace tessera::nn {

/// Normalises the last dimension to mean 0 and variance 1, then scales and shifts with stored weights.
struct LayerNorm {
  at::Tensor weight;               // [D]
  std::optional<at::Tensor> bias;  // [D], absent where none is stored
  double eps;

  LayerNorm(const weights::WeightMap& map, int64_t dim, double eps);
  at::Tensor operator()(const at::Tensor& x) const;  // [..., D] → same
};

/// x / sqrt(mean(x²) + eps) * weight over the last dimension; sums in float32 for 16-bit types.
struct RmsNorm {
  at::Tensor weight;  // [D]
  double eps;

  RmsNorm(const weights::WeightMap& map, int64_t dim, double eps);
  at::Tensor operator()(const at::Tensor& x) const;  // [..., D] → same
};

/// Normalises groups of channels of [B, C, ...].
struct GroupNorm {
  at::Tensor weight;  // [C]
  at::Tensor bias;    // [C]
  int64_t groups;
  double eps;

  GroupNorm(const weights::WeightMap& map, int64_t channels, int64_t groups, double eps);
  at::Tensor operator()(const at::Tensor& x) const;  // [B, C, ...] → same
};

/// Layer normalisation without weights. [..., D] → same
at::Tensor layer_norm(const at::Tensor& x, double eps);

}  // namespace tessera::nn
