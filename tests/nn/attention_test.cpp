#include "nn/attention.h"

#include <gtest/gtest.h>

namespace tessera::nn {
namespace {

/// Softmax attention written out, with an additive mask [B|1, H|1, Sq, Skv]; a dead row is 0.
at::Tensor written_out(const AttentionCall& call, const std::optional<at::Tensor>& mask) {
  const int64_t group = call.query.size(2) / call.key.size(2);
  const at::Tensor q = call.query.transpose(1, 2).to(at::kDouble);
  const at::Tensor k = call.key.transpose(1, 2).repeat_interleave(group, 1).to(at::kDouble);
  const at::Tensor v = call.value.transpose(1, 2).repeat_interleave(group, 1).to(at::kDouble);
  const double scale = call.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
  at::Tensor logits = at::matmul(q, k.transpose(2, 3)) * scale;
  if (mask) logits = logits + *mask;
  const at::Tensor p = logits.softmax(-1);
  return at::matmul(at::where(p.isnan(), at::zeros_like(p), p), v).transpose(1, 2).to(at::kFloat);
}

AttentionCall random_call() {
  const auto f32 = at::TensorOptions().dtype(at::kFloat);
  return {.query = at::randn({2, 5, 4, 8}, f32),
          .key = at::randn({2, 7, 2, 8}, f32),
          .value = at::randn({2, 7, 2, 8}, f32),
          .key_lengths = {},
          .bool_mask = {},
          .additive_mask = {},
          .scale = {}};
}

at::Tensor as_additive(const at::Tensor& allowed) {
  return at::zeros_like(allowed, at::kDouble).masked_fill(allowed.logical_not(), -INFINITY);
}

void expect_close(const at::Tensor& got, const at::Tensor& want) {
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_LT((got - want).abs().max().item<float>(), 1e-5f);
}

}  // namespace

TEST(Attention, GroupsOfQueryHeadsShareAKeyHead) {
  const AttentionCall call = random_call();
  expect_close(attention(call, {}), written_out(call, std::nullopt));
}

TEST(Attention, CausalIsAlignedToTheTopLeftCorner) {
  AttentionCall call = random_call();
  call.causal = true;
  expect_close(attention(call, {}), written_out(call, as_additive(at::ones({5, 7}, at::kBool).tril())));
}

TEST(Attention, KeyLengthsHideTheKeysBehindThem) {
  AttentionCall call = random_call();
  call.key_lengths = {{3, 7}};
  const at::Tensor allowed = at::ones({2, 1, 1, 7}, at::kBool);
  allowed.select(0, 0).slice(2, 3).fill_(false);
  expect_close(attention(call, {}), written_out(call, as_additive(allowed)));
}

TEST(Attention, ARowWithoutAnyKeyIsZero) {
  AttentionCall call = random_call();
  const at::Tensor allowed = at::ones({1, 1, 5, 7}, at::kBool);
  allowed.select(2, 1).fill_(false);
  call.bool_mask = allowed;
  const at::Tensor out = attention(call, {});
  EXPECT_EQ(out.select(1, 1).abs().max().item<float>(), 0.0f);
  expect_close(out, written_out(call, as_additive(allowed)));
  call.bool_mask.reset();
  call.key_lengths = {{0, 7}};
  EXPECT_EQ(attention(call, {}).select(0, 0).abs().max().item<float>(), 0.0f);
}

TEST(Attention, AnAdditiveMaskCombinesWithCausalAndScale) {
  AttentionCall call = random_call();
  call.additive_mask = at::randn({1, 4, 5, 7});
  call.causal = true;
  call.scale = 1.0;
  const at::Tensor mask = *call.additive_mask + as_additive(at::ones({5, 7}, at::kBool).tril());
  expect_close(attention(call, {}), written_out(call, mask));
}

}  // namespace tessera::nn
