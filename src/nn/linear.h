// The linear map of every model: weights as stored, one call.
#pragma once

#include "tensor/aten.h"

#include "weights/weight_map.h"

namespace tessera::nn {

enum class Bias { Required, None, IfStored };

/// y = x W^T + b with the tensors `weight` and `bias` of a map.
struct Linear {
  at::Tensor weight;               // [out, in]
  std::optional<at::Tensor> bias;  // [out]

  /// Errors: throws RuntimeFault{BadFile} when a tensor is missing or has another shape.
  Linear(const weights::WeightMap& map, int64_t in, int64_t out, Bias bias = Bias::Required);

  /// x [..., in] → [..., out]
  at::Tensor operator()(const at::Tensor& x) const { return at::linear(x, weight, bias); }
};

}  // namespace tessera::nn
