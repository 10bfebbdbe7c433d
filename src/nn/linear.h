// The linear map of every model: weights in the type they are stored in, one call.
#pragma once

#include "tensor/aten.h"

#include "nn/activation.h"
#include "weights/weight_map.h"

namespace tessera::nn {

enum class Bias { Required, None, IfStored };

/// May a layer multiply in integers when the request's quality allows it? Never: embedders, modulation, the last
/// projection (few rows or few channels, and every error of theirs reaches the whole picture).
enum class Rounding { Never, Allowed };

/// y = x W^T + b with the tensors `weight` and `bias` of a map.
///
/// On CPUs 16-bit weights stay as they are stored: they are widened slice by slice into a small scratch and multiplied
/// in float32, whatever the type of x; the result has x's type. With Rounding::Allowed and a map that asks for it, the
/// weights are quantised and packed once, and the stored ones are only read again for rows that integers cannot hold.
struct Linear {
  at::Tensor weight;               // [out, in], as stored or in the map's type
  std::optional<at::Tensor> bias;  // [out], in the map's type
  at::ScalarType dtype;            ///< the type that inputs are expected in
  at::Tensor packed;               // bytes of kernels/linear, undefined without
  weights::LinearTier tier = weights::LinearTier::Exact;

  /// Errors: throws RuntimeFault{BadFile} when a tensor is missing or has another shape.
  Linear(const weights::WeightMap& map, int64_t in, int64_t out, Bias bias = Bias::Required,
         Rounding rounding = Rounding::Never);

  /// x [..., in] → [..., out]
  at::Tensor operator()(const at::Tensor& x) const;

  /// activate(kind, x W^T + b), in one pass where the kernel can. x [..., in] → [..., out]
  at::Tensor activated(Activation kind, const at::Tensor& x) const;

  /// Writes activate(kind, x W^T + b) into `out`, whose rows may lie apart; nothing: the plain product.
  /// Shapes: x [..., in], out [..., out] with last stride 1 and evenly spaced rows.
  void into(const at::Tensor& x, std::optional<Activation> kind, const at::Tensor& out) const;

  bool in_integers() const { return packed.defined(); }
};

}  // namespace tessera::nn
