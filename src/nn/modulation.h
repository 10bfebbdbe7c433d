// Adaptive normalisation: scale, shift and gate vectors made from the time embedding.
#pragma once

#include "tensor/aten.h"

namespace tessera::nn {

/// norm(x) * (1 + scale) + shift, with the layer norm that has no weights of its own.
/// Shapes: x [B, S, D]; scale, shift [B, D] → [B, S, D]. One pass over x when B = 1.
at::Tensor ada_layer_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift, double eps);

/// normed * (1 + scale) + shift. Shapes: normed [B, S, D]; scale, shift [B, D] or [B, S, D].
at::Tensor modulate(const at::Tensor& normed, const at::Tensor& scale, const at::Tensor& shift);

/// residual + gate * x. Shapes: residual, x [B, S, D]; gate [B, D] or [B, S, D].
at::Tensor gated_add(const at::Tensor& residual, const at::Tensor& gate, const at::Tensor& x);

}  // namespace tessera::nn
