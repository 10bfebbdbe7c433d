// Activation functions by the names that configs use.
#pragma once

#include "tensor/aten.h"

#include "base/result.h"

namespace tessera::nn {

enum class Activation { Relu, Gelu, GeluTanh, QuickGelu, Silu };

/// The function of a config's name: "relu", "gelu", "gelu_new", "gelu_pytorch_tanh", "quick_gelu", "silu", "swish", …
/// Errors: Unsupported, naming the ones we have.
Result<Activation> parse_activation(std::string_view name);

/// Applies it, overwriting x where the operator can: pass a tensor that nobody else reads.
at::Tensor activate(Activation kind, at::Tensor x);

}  // namespace tessera::nn
