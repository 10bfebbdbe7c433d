#include "tensor/rng.h"

namespace tessera::tensor {

at::Generator cpu_generator(uint64_t seed) {
  return at::make_generator<at::CPUGeneratorImpl>(seed);
}

at::Tensor randn(at::IntArrayRef shape, at::Generator& generator) {
  return at::randn(shape, generator, at::TensorOptions().dtype(at::kFloat));
}

}  // namespace tessera::tensor
