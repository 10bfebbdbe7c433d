#include "nn/rope.h"

#include <gtest/gtest.h>

namespace tessera::nn {

// get_1d_rotary_pos_embed(4, pos=[3.]) of diffusers 0.42.1: angles 3 and 0.03.
TEST(Rope, TheTableHoldsEachAngleTwice) {
  const RotaryTable table = rotary_table(at::full({1, 1}, 3.0), {4});
  const float want[] = {3.0f, 3.0f, 0.03f, 0.03f};
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(table.cos()[0][i].item<float>(), std::cos(want[i]), 1e-6f);
    EXPECT_NEAR(table.sin()[0][i].item<float>(), std::sin(want[i]), 1e-6f);
  }
}

TEST(Rope, PairsTurnByTheirAngleAndKeepTheirLength) {
  const at::Tensor ids = at::arange(6, at::kFloat).view({3, 2});
  const RotaryTable table = rotary_table(ids, {4, 2});
  const at::Tensor x = at::randn({2, 3, 5, 6});
  const at::Tensor cos = table.cos().view({1, 3, 1, 6});
  const at::Tensor sin = table.sin().view({1, 3, 1, 6});
  const at::Tensor pairs = x.view({2, 3, 5, 3, 2});
  const at::Tensor turned = at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(3);
  const at::Tensor want = x * cos + turned * sin;
  EXPECT_LT((apply_rotary(x.clone(), table) - want).abs().max().item<float>(), 1e-6f);
}

TEST(Rope, SixteenBitInputIsLeftAloneAndComesBackInItsType) {
  const RotaryTable table = rotary_table(at::ones({3, 1}), {4});
  const at::Tensor x = at::randn({1, 3, 2, 4}).to(at::kBFloat16);
  const at::Tensor before = x.clone();
  const at::Tensor out = apply_rotary(x, table);
  EXPECT_EQ(out.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(x, before));
}

}  // namespace tessera::nn
