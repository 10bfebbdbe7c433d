#include "tensor/rng.h"

#include <gtest/gtest.h>

namespace tessera::tensor {

// Values printed by torch 2.13.0: torch.randn(3, generator=torch.Generator("cpu").manual_seed(42)).
TEST(Rng, EqualsTorchForASeed) {
  auto generator = cpu_generator(42);
  const at::Tensor x = randn({3}, generator);
  EXPECT_FLOAT_EQ(x[0].item<float>(), 0.33669036626815796f);
  EXPECT_FLOAT_EQ(x[1].item<float>(), 0.12880940735340118f);
  EXPECT_FLOAT_EQ(x[2].item<float>(), 0.23446236550807953f);
}

TEST(Rng, ADrawAdvancesTheGenerator) {
  auto generator = cpu_generator(7);
  EXPECT_FALSE(at::equal(randn({8}, generator), randn({8}, generator)));
}

}  // namespace tessera::tensor
