// Linear layers over 16-bit weights and in integers: what stays in memory, how exact they are, where NaN goes.
#include "nn/linear.h"

#include <gtest/gtest.h>

#include "kernels/linear/linear.h"

namespace tessera::nn {
namespace {

using weights::LinearTier;
using weights::WeightMap;

struct Layer {
  at::Tensor weight, bias;

  WeightMap map(std::optional<at::ScalarType> dtype = at::kFloat) const {
    return {std::map<std::string, at::Tensor>{{"weight", weight}, {"bias", bias}}, dtype, "test"};
  }
  at::Tensor exact(const at::Tensor& x) const {
    return at::linear(x.to(at::kDouble), weight.to(at::kDouble), bias.to(at::kDouble));
  }
};

Layer random_layer(int64_t in, int64_t out, at::ScalarType type) {
  return {(at::randn({out, in}) * 0.05).to(type), at::randn({out}).to(type)};
}

Linear load(const Layer& layer, LinearTier tier, std::optional<at::ScalarType> dtype = at::kFloat) {
  return {layer.map(dtype).with_linears(tier), layer.weight.size(1), layer.weight.size(0), Bias::Required,
          Rounding::Allowed};
}

double relative_error(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor w = want.to(at::kDouble);
  return std::sqrt((got.to(at::kDouble) - w).square().mean().item<double>() / w.square().mean().item<double>());
}

}  // namespace

TEST(Linear, SixteenBitWeightsAreUsedAsStoredWhateverTheTypeOfTheInput) {
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf}) {
    const Layer layer = random_layer(300, 70, type);
    const Linear linear = load(layer, LinearTier::Exact);
    EXPECT_EQ(linear.weight.const_data_ptr(), layer.weight.const_data_ptr());
    EXPECT_EQ(linear.dtype, at::kFloat);
    const at::Tensor x = at::randn({2, 9, 300});
    EXPECT_LT(relative_error(linear(x), layer.exact(x)), 1e-6);
    const at::Tensor narrow = linear(x.to(type));
    EXPECT_EQ(narrow.scalar_type(), type);
    EXPECT_LT(relative_error(narrow, layer.exact(x.to(type))), 3e-3) << "one rounding of the result";
  }
}

TEST(Linear, WidensLayersOfMoreThanOneSlice) {
  const Layer layer = random_layer(4096, 1000, at::kBFloat16);
  const at::Tensor x = at::randn({5, 4096});
  EXPECT_LT(relative_error(load(layer, LinearTier::Exact)(x), layer.exact(x)), 1e-6);
}

TEST(Linear, IntegersComeCloseInEveryTypeAndOnlyWhereTheyAreAllowed) {
  if (kernels::linear_isa() == kernels::Isa::Auto) GTEST_SKIP() << "no integer linears on this processor";
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    const Layer layer = random_layer(900, 130, type);
    const at::Tensor x = at::randn({1, 33, 900});
    for (const auto& [tier, bound] : {std::pair{LinearTier::High, 1e-3}, std::pair{LinearTier::Fast, 2e-2}}) {
      const Linear linear = load(layer, tier);
      EXPECT_TRUE(linear.in_integers());
      EXPECT_LT(relative_error(linear(x), layer.exact(x)), bound);
      EXPECT_LT(relative_error(linear.activated(Activation::GeluTanh, x), at::gelu(layer.exact(x), "tanh")), 2 * bound);
      EXPECT_LT(relative_error(linear.activated(Activation::Silu, x), at::silu(layer.exact(x))), 2 * bound);
    }
    EXPECT_FALSE(load(layer, LinearTier::Exact).in_integers());
    EXPECT_FALSE(Linear(layer.map().with_linears(LinearTier::Fast), 900, 130).in_integers());
  }
}

TEST(Linear, WritesIntoRowsThatLieApart) {
  const Layer layer = random_layer(64, 40, at::kFloat);
  const at::Tensor x = at::randn({1, 10, 64});
  for (const LinearTier tier : {LinearTier::Exact, LinearTier::Fast}) {
    const at::Tensor joined = at::full({1, 10, 100}, 7.0);
    load(layer, tier).into(x, std::nullopt, joined.slice(2, 60));
    EXPECT_LT(relative_error(joined.slice(2, 60), layer.exact(x)), 2e-2);
    EXPECT_TRUE((joined.slice(2, 0, 60) == 7.0).all().item<bool>());
  }
}

TEST(Linear, NanAndInfinityGoWhereFloatingPointPutsThemInIntegersToo) {
  const Layer layer = random_layer(200, 50, at::kFloat);
  at::Tensor x = at::randn({12, 200});
  x[3][7] = std::numeric_limits<float>::quiet_NaN();
  x[8][0] = std::numeric_limits<float>::infinity();
  x[9][1] = 1e25F;
  const at::Tensor want = at::linear(x, layer.weight, layer.bias);
  for (const LinearTier tier : {LinearTier::High, LinearTier::Fast}) {
    const at::Tensor got = load(layer, tier)(x);
    EXPECT_TRUE(at::equal(at::isnan(got), at::isnan(want)));
    EXPECT_TRUE(at::equal(got[8], want[8]));
    EXPECT_LT(relative_error(got[9], want[9]), 1e-5);
    EXPECT_LT(relative_error(got.slice(0, 0, 3), want.slice(0, 0, 3)), 2e-2);
  }
}

TEST(Linear, AWeightThatIsNotFiniteKeepsTheLayerInFloatingPoint) {
  Layer layer = random_layer(64, 64, at::kFloat);
  layer.weight[5][5] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(load(layer, LinearTier::Fast).in_integers());
}

TEST(Linear, NoRowsGiveNoRows) {
  const Layer layer = random_layer(64, 40, at::kBFloat16);
  for (const LinearTier tier : {LinearTier::Exact, LinearTier::Fast}) {
    EXPECT_EQ(load(layer, tier)(at::randn({0, 64})).sizes(), (std::vector<int64_t>{0, 40}));
  }
}

}  // namespace tessera::nn
