// Merging partial attention results against attention over all keys at once.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include "attention/backends/reference.h"
#include "base/check.h"
#include "parallel/lse_merge.h"
#include "tests/attention/problems.h"

namespace tessera::parallel {
namespace {

using attention::AttentionInputs;

PartialAttention attend(const AttentionInputs& inputs) {
  const auto outputs = attention::allocate_outputs(inputs, true);
  EXPECT_TRUE(attention::ReferenceBackend().run(inputs, outputs, attention::Quality::Exact));
  return {outputs.out, outputs.lse};
}

/// The same problem over the keys [begin, begin + count).
PartialAttention attend_keys(AttentionInputs inputs, int64_t begin, int64_t count) {
  inputs.key = inputs.key.narrow(1, begin, count);
  inputs.value = inputs.value.narrow(1, begin, count);
  if (auto* mask = std::get_if<attention::BoolMask>(&inputs.mask))
    mask->allowed = mask->allowed.narrow(3, begin, count);
  return attend(inputs);
}

void expect_equal(const PartialAttention& got, const PartialAttention& want) {
  EXPECT_LE((got.out - want.out).abs().max().item<double>(), 1e-5);
  const at::Tensor both_dead = (got.lse == want.lse);  // also -inf on both sides
  EXPECT_TRUE(((got.lse - want.lse).abs() <= 1e-5).logical_or(both_dead).all().item<bool>());
}

TEST(LseMerge, EqualsAttentionOverAllKeysInAnyOrder) {
  const auto made = attention::make_problem({"dense", {2, 17, 60, 4, 2, 32, 32}});
  const auto whole = attend(made->inputs);
  const auto a = attend_keys(made->inputs, 0, 13);
  const auto b = attend_keys(made->inputs, 13, 1);
  const auto c = attend_keys(made->inputs, 14, 46);
  expect_equal(merge_partials(merge_partials(a, b), c), whole);
  expect_equal(merge_partials(a, merge_partials(b, c)), whole);
  expect_equal(merge_partials(merge_partials(c, a), b), whole);
}

TEST(LseMerge, TakesPartsWhereSomeQueriesSeeNothing) {
  const auto made = attention::make_problem(
      {"dead", {2, 13, 40, 2, 2, 32, 32}, at::kFloat, attention::Causal::None, attention::MaskShape::BoolDead});
  std::get<attention::BoolMask>(made->inputs.mask).allowed.narrow(3, 0, 20);
  const auto whole = attend(made->inputs);
  ASSERT_TRUE(at::isfinite(whole.lse).logical_not().any().item<bool>()) << "no dead row in the test";
  expect_equal(merge_partials(attend_keys(made->inputs, 0, 20), attend_keys(made->inputs, 20, 20)), whole);
}

TEST(LseMerge, KeepsAPartWhoseLogitsAreFarLarger) {
  const PartialAttention large = {at::full({1, 1, 1, 4}, 3.0F), at::full({1, 1, 1}, 1e4F)};
  const PartialAttention small = {at::full({1, 1, 1, 4}, 5.0F), at::full({1, 1, 1}, -1e4F)};
  expect_equal(merge_partials(small, large), large);
}

TEST(LseMerge, ReturnsTheDtypeOfTheParts) {
  const PartialAttention part = {at::ones({1, 2, 1, 4}).to(at::kBFloat16), at::zeros({1, 1, 2})};
  const auto merged = merge_partials(part, part);
  EXPECT_EQ(merged.out.scalar_type(), at::kBFloat16);
  EXPECT_EQ(merged.lse.scalar_type(), at::kFloat);
  EXPECT_NEAR(merged.lse[0][0][0].item<float>(), std::log(2.0F), 1e-6);
}

TEST(LseMerge, RefusesPartsOfDifferentShapes) {
  const PartialAttention a = {at::ones({1, 2, 1, 4}), at::zeros({1, 1, 2})};
  const PartialAttention b = {at::ones({1, 3, 1, 4}), at::zeros({1, 1, 3})};
  EXPECT_THROW(merge_partials(a, b), Bug);
}

}  // namespace
}  // namespace tessera::parallel
