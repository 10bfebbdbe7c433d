// Calls whose tensors do not fit together are refused before any backend sees them.
#include "attention/inputs.h"

#include <gtest/gtest.h>

#include "attention/signature.h"
#include "tests/attention/problems.h"

namespace tessera::attention {
namespace {

template <typename Change>
void expect_misuse(const char* what, Change change) {
  const auto made = make_problem({what, {2, 9, 11, 4, 2, 16, 16}});
  ASSERT_TRUE(validate(made->inputs));
  change(made->inputs);
  const Status status = validate(made->inputs);
  ASSERT_FALSE(status) << what;
  EXPECT_EQ(status.error().code, ErrorCode::Misuse) << what;
}

TEST(Inputs, RefusesTensorsThatDoNotFitTogether) {
  expect_misuse("dimensions", [](AttentionInputs& in) { in.query = in.query.select(0, 0); });
  expect_misuse("batch", [](AttentionInputs& in) { in.key = in.key.narrow(0, 0, 1); });
  expect_misuse("lengths differ", [](AttentionInputs& in) { in.value = in.value.narrow(1, 0, 5); });
  expect_misuse("head size", [](AttentionInputs& in) { in.key = in.key.narrow(3, 0, 5); });
  expect_misuse("heads", [](AttentionInputs& in) { in.query = in.query.narrow(2, 0, 3); });
  expect_misuse("key heads", [](AttentionInputs& in) { in.value = in.value.narrow(2, 0, 1); });
  expect_misuse("dtype", [](AttentionInputs& in) { in.key = in.key.to(at::kHalf); });
  expect_misuse("integers", [](AttentionInputs& in) {
    in.query = in.key = in.value = at::ones({1, 1, 1, 1}, at::kLong);
  });
  expect_misuse("scale", [](AttentionInputs& in) { in.scale = std::nan(""); });
}

CallKey key_of(const AttentionInputs& in, bool for_gpu) {
  CallPlace place;
  place.facts = facts_of(in, for_gpu);
  return call_key(in, place);
}

TEST(CallKeys, TellPackedCallsApartWhoseSequencesAreNotSquare) {
  const auto made = make_problem({"packed", {1, 20, 20, 4, 2, 16, 16}});
  const std::vector<int64_t> bounds = {0, 8, 20}, same = {0, 9, 20}, others = {0, 11, 20};
  const auto key = [&](const std::vector<int64_t>& query, const std::vector<int64_t>& keys) {
    AttentionInputs in = made->inputs;
    in.causal = Causal::TopLeft;
    in.packed = Packed{query, keys};
    return key_of(in, false);
  };
  EXPECT_EQ(key(bounds, bounds), key(same, same)) << "where the sequences begin decides nothing";
  EXPECT_NE(key(bounds, bounds), key(bounds, others)) << "a kernel with one corner takes square ones only";
}

TEST(CallKeys, TellApartOnGpusWhatKernelsThereRefuse) {
  const auto plain = make_problem({"plain", {2, 20, 20, 4, 2, 16, 16}})->inputs;
  const auto packed = make_problem({"packed", {1, 20, 20, 4, 2, 16, 16}})->inputs;
  AttentionInputs shifted = plain;
  shifted.key = at::zeros({plain.key.numel() + 1}).narrow(0, 1, plain.key.numel()).view(plain.key.sizes());
  const std::vector<int64_t> equal = {7, 7}, unequal = {7, 8}, single = {1, 1};
  AttentionInputs even = plain, uneven = plain, one = plain;
  even.mask = KeyLengths{equal}, uneven.mask = KeyLengths{unequal}, one.mask = KeyLengths{single};
  const std::vector<int64_t> queries = {0, 8, 20}, more = {0, 7, 20}, fewest = {0, 19, 20}, fewer = {0, 9, 20};
  AttentionInputs wide = packed, lone = packed, tall = packed;
  wide.packed = Packed{more, more}, lone.packed = Packed{fewest, fewest}, tall.packed = Packed{queries, fewer};
  const std::pair<AttentionInputs, AttentionInputs> pairs[] = {
      {plain, shifted}, {even, uneven}, {even, one}, {wide, lone}, {wide, tall}};
  for (const auto& [a, b] : pairs) EXPECT_NE(key_of(a, true), key_of(b, true));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(key_of(pairs[i].first, false), key_of(pairs[i].second, false)) << i;
}

TEST(Inputs, RefusesBoundsOfSequencesThatDoNotFit) {
  const auto made = make_problem({"packed", {1, 9, 11, 4, 2, 16, 16}});
  const auto with = [&](const std::vector<int64_t>& query, const std::vector<int64_t>& key) {
    AttentionInputs in = made->inputs;
    in.packed = Packed{query, key};
    return validate(in);
  };
  EXPECT_TRUE(with({0, 4, 9}, {0, 0, 11}));
  EXPECT_TRUE(with({0, 4}, {0, 3}));
  for (const auto& bad : std::vector<std::vector<int64_t>>{{}, {0}, {1, 9}, {0, 5, 4}, {0, 4, 10}, {0, 4, 6, 9}}) {
    const Status status = with(bad, {0, 4, 9});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Misuse);
  }
  EXPECT_FALSE(with({0, 4, 9}, {0, 4, 12}));
  const auto two = make_problem({"two rows", {2, 9, 9, 4, 2, 16, 16}});
  const std::vector<int64_t> bounds = {0, 9};
  two->inputs.packed = Packed{bounds, bounds};
  EXPECT_FALSE(validate(two->inputs));
}

TEST(Inputs, RefusesMasksThatDoNotFit) {
  const std::vector<int64_t> few = {3}, negative = {3, -1}, large = {3, 12};
  expect_misuse("few lengths", [&](AttentionInputs& in) { in.mask = KeyLengths{few}; });
  expect_misuse("negative length", [&](AttentionInputs& in) { in.mask = KeyLengths{negative}; });
  expect_misuse("large length", [&](AttentionInputs& in) { in.mask = KeyLengths{large}; });
  expect_misuse("shape", [](AttentionInputs& in) { in.mask = BoolMask{at::ones({9, 11}, at::kBool)}; });
  expect_misuse("bool dtype", [](AttentionInputs& in) { in.mask = BoolMask{at::ones({2, 4, 9, 11})}; });
  expect_misuse("additive dtype", [](AttentionInputs& in) {
    in.mask = AdditiveMask{at::ones({2, 4, 9, 11}, at::kHalf)};
  });
}

TEST(Inputs, ExpandsMasksWithoutCopiesAndRefusesOthers) {
  const Sizes sizes = {2, 9, 11, 4, 2, 16, 16};
  for (const auto& shape : {std::vector<int64_t>{9, 11}, {1, 11}, {4, 9, 11}, {2, 1, 1, 11}, {1, 1, 9, 1}}) {
    const at::Tensor mask = at::ones(shape);
    const auto full = expand_mask(mask, sizes);
    ASSERT_TRUE(full);
    EXPECT_EQ(full->sizes(), at::IntArrayRef({2, 4, 9, 11}));
    EXPECT_EQ(full->const_data_ptr(), mask.const_data_ptr());
  }
  for (const auto& shape : {std::vector<int64_t>{9, 10}, {11}, {3, 1, 1, 11}, {1, 2, 4, 9, 11}}) {
    EXPECT_FALSE(expand_mask(at::ones(shape), sizes));
  }
}

}  // namespace
}  // namespace tessera::attention
