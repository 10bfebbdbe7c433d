// The guards in front of cuDNN: each refuses with its own reason, before any library is touched.
#include "attention/cudnn/spec.h"

#include <gtest/gtest.h>

#include <functional>

namespace tessera::attention::cudnn {
namespace {

constexpr int64_t kVersion = 91900;

Spec dense(int64_t batch, int64_t seq_q, int64_t seq_kv, int64_t heads_q, int64_t heads_kv) {
  AttentionProblem p;
  p.batch = batch, p.seq_q = seq_q, p.seq_kv = seq_kv, p.heads_q = heads_q, p.heads_kv = heads_kv;
  p.head_dim = p.value_dim = 64;
  return spec_of(p);
}

Spec good() {
  return dense(2, 512, 256, 8, 4);
}

TEST(CudnnGuards, LetOrdinaryProblemsThrough) {
  EXPECT_EQ(refusal(good(), kVersion), std::nullopt);
}

TEST(CudnnSpec, ADenseMaskIsABiasInRowsOfSixteenBytes) {
  AttentionProblem p;
  p.seq_q = 77, p.seq_kv = 226, p.heads_q = p.heads_kv = 64, p.head_dim = p.value_dim = 64;
  for (const MaskKind mask : {MaskKind::Bool, MaskKind::Additive}) {
    p.mask = mask;
    p.causal = Causal::BottomRight;
    const Spec s = spec_of(p);
    EXPECT_EQ(refusal(s, kVersion), std::nullopt);
    EXPECT_EQ(s.bias[2], 232);
    EXPECT_EQ(s.causal, Causal::None) << "the mask carries it";
  }
}

TEST(CudnnSpec, TheSecondEngineIsTheFirstPlanOfAnotherClass) {
  EXPECT_EQ(second_engine({8, 8, 8, 10}), 3);
  EXPECT_EQ(second_engine({10, 10, 8, 10}), 2);
  EXPECT_EQ(second_engine({8, 8}), 0);
  EXPECT_EQ(second_engine({}), 0);
}

TEST(CudnnGuards, EachRefusalHasItsOwnReason) {
  const struct {
    const char* reason;
    std::function<void(Spec&)> change;
  } cases[] = {
      {"zero lengths", [](Spec& s) { s.seq_q = 0; }},
      {"zero lengths", [](Spec& s) { s.seq_kv = 0; }},
      {"a single key", [](Spec& s) { s.seq_kv = 1; }},
      {"empty problem", [](Spec& s) { s.batch = 0; }},
      {"head size 100", [](Spec& s) { s.head_dim = 100; }},
      {"value head size 36", [](Spec& s) { s.value_dim = 36; }},
      {"not a multiple of 3 key heads", [](Spec& s) { s.heads_kv = 3; }},
      {"not fp32", [](Spec& s) { s.dtype = DType::F32; }},
      {"contiguous in the head dimension", [](Spec& s) { s.k[3] = 2; }},
      {"sequence stride of the query", [](Spec& s) { s.q[2] = 513; }},
      {"head stride of the value", [](Spec& s) { s.v[1] = 68; }},
      {"batch stride of the key", [](Spec& s) { s.k[0] += 4; }},
      {"stride of the output", [](Spec& s) { s.o[2] = 517; }},
      {"more queries (512) than keys (256)", [](Spec& s) { s.causal = Causal::BottomRight; }},
      {"together with key lengths",
       [](Spec& s) { s.causal = Causal::BottomRight, s.mask = MaskKind::KeyLengths, s.seq_kv = 512; }},
      {"no bool mask", [](Spec& s) { s.mask = MaskKind::Bool; }},
      {"a mask of fp16 with tensors of bf16", [](Spec& s) { s.mask = MaskKind::Additive, s.bias_dtype = DType::F16; }},
      {"the mask's batch size",
       [](Spec& s) {
         s.mask = MaskKind::Additive, s.bias_shape = {3, 1};
       }},
      {"the mask's heads",
       [](Spec& s) {
         s.mask = MaskKind::Additive, s.bias_shape = {1, 2};
       }},
      {"stride of the mask",
       [](Spec& s) {
         s.mask = MaskKind::Additive, s.bias_shape = {1, 1}, s.bias = {1, 1, 498, 1};
       }},
  };
  for (const auto& c : cases) {
    Spec spec = good();
    c.change(spec);
    const auto text = refusal(spec, kVersion);
    ASSERT_TRUE(text) << c.reason;
    EXPECT_NE(text->find(c.reason), std::string::npos) << *text;
  }
}

TEST(CudnnGuards, KnownBadVersionsAreRefused) {
  EXPECT_TRUE(refusal(good(), 91000));
  EXPECT_TRUE(refusal(good(), 91001));
  EXPECT_FALSE(refusal(good(), 91002));
  EXPECT_TRUE(refusal(good(), 80907));
}

TEST(CudnnGuards, StridesOfSingleElementDimensionsDoNotMatter) {
  Spec spec = dense(1, 512, 512, 1, 1);
  spec.q[0] = 3, spec.q[1] = 5;
  EXPECT_EQ(refusal(spec, kVersion), std::nullopt);
}

TEST(CudnnGuards, PointersBelow16BytesAlignmentAreNotAligned) {
  alignas(16) const char memory[32] = {};
  EXPECT_TRUE(aligned(memory));
  EXPECT_FALSE(aligned(memory + 8));
}

TEST(CudnnSpec, TwoSpecsAreThePlanOfOneAnotherOnlyWhenEveryFieldIsEqual) {
  Spec a = good(), b = good();
  EXPECT_EQ(a, b);
  b.scale *= 2;
  EXPECT_NE(a, b);
  b = a, b.v[2] += 8;
  EXPECT_NE(a, b);
  b = a, b.stats = true;
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace tessera::attention::cudnn
