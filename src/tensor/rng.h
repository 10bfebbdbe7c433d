// Random numbers that equal torch's, so that a seed gives the reference's picture.
#pragma once

#include "tensor/aten.h"

namespace tessera::tensor {

/// A CPU generator as torch.Generator("cpu").manual_seed(seed) makes it.
at::Generator cpu_generator(uint64_t seed);

/// Standard normal float32 values on the CPU, bit-equal to torch.randn with that generator.
/// Advances the generator. Shape: as given.
at::Tensor randn(at::IntArrayRef shape, at::Generator& generator);

}  // namespace tessera::tensor
