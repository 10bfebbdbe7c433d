// Every instruction set and tier against the double-precision reference over one table of problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "tests/kernels/attention_case.h"

namespace tessera::test {
namespace {

using kernels::Causal;
using kernels::Isa;
using kernels::MaskKind;
using kernels::Status;
using kernels::Tier;

std::vector<CaseSpec> plain_problems() {
  return {
      {.name = "one pair", .seq_q = 1, .seq_kv = 1},
      {.name = "one query", .seq_q = 1, .seq_kv = 150, .head_dim = 128, .value_dim = 128},
      {.name = "one key", .seq_q = 50, .seq_kv = 1, .head_dim = 40, .value_dim = 40},
      {.name = "square 77 x 64", .batch = 2, .seq_q = 77, .seq_kv = 77, .heads_q = 3, .heads_kv = 3},
      {.name = "blocks and tails", .seq_q = 301, .seq_kv = 517, .heads_q = 2, .heads_kv = 2},
      {.name = "d 1", .seq_q = 9, .seq_kv = 9, .head_dim = 1, .value_dim = 1},
      {.name = "d 7", .seq_q = 9, .seq_kv = 33, .head_dim = 7, .value_dim = 7},
      {.name = "d 40", .seq_q = 61, .seq_kv = 70, .head_dim = 40, .value_dim = 40},
      {.name = "d 72", .seq_q = 61, .seq_kv = 70, .head_dim = 72, .value_dim = 72},
      {.name = "d 128", .seq_q = 200, .seq_kv = 300, .head_dim = 128, .value_dim = 128},
      {.name = "d 256", .seq_q = 60, .seq_kv = 140, .head_dim = 256, .value_dim = 256},
      {.name = "d 512", .seq_q = 60, .seq_kv = 140, .head_dim = 512, .value_dim = 512},
      {.name = "wide values", .seq_q = 60, .seq_kv = 140, .head_dim = 32, .value_dim = 200},
      {.name = "narrow values", .seq_q = 60, .seq_kv = 140, .head_dim = 96, .value_dim = 20},
      {.name = "gqa 8 2", .batch = 2, .seq_q = 33, .seq_kv = 65, .heads_q = 8, .heads_kv = 2},
      {.name = "mqa 6 1", .seq_q = 20, .seq_kv = 300, .heads_q = 6, .heads_kv = 1},
      {.name = "long", .seq_q = 50, .seq_kv = 2049, .head_dim = 32, .value_dim = 32},
      {.name = "no keys", .seq_q = 5, .seq_kv = 0},
      {.name = "no queries", .seq_q = 0, .seq_kv = 5},
  };
}

std::vector<CaseSpec> masked_problems() {
  return {
      {.name = "causal square", .seq_q = 300, .seq_kv = 300, .heads_q = 2, .heads_kv = 1, .causal = Causal::TopLeft},
      {.name = "causal wide", .seq_q = 70, .seq_kv = 300, .causal = Causal::TopLeft},
      {.name = "causal tall", .seq_q = 300, .seq_kv = 70, .causal = Causal::TopLeft},
      {.name = "bottom right wide", .seq_q = 70, .seq_kv = 300, .causal = Causal::BottomRight},
      {.name = "bottom right tall", .seq_q = 300, .seq_kv = 70, .causal = Causal::BottomRight},
      {.name = "lengths", .batch = 3, .seq_q = 40, .seq_kv = 200, .key_lengths = {200, 0, 131}},
      {.name = "causal lengths",
       .batch = 2,
       .seq_q = 40,
       .seq_kv = 90,
       .causal = Causal::BottomRight,
       .key_lengths = {13, 60}},
      {.name = "bool", .batch = 2, .seq_q = 70, .seq_kv = 150, .heads_q = 2, .heads_kv = 2, .mask = MaskKind::Bool},
      {.name = "bool per head",
       .seq_q = 70,
       .seq_kv = 150,
       .heads_q = 4,
       .heads_kv = 2,
       .mask = MaskKind::Bool,
       .mask_per_query = false},
      {.name = "bool for all",
       .batch = 2,
       .seq_q = 70,
       .seq_kv = 150,
       .heads_q = 2,
       .heads_kv = 2,
       .mask = MaskKind::Bool,
       .mask_per_query = false,
       .mask_per_head = false},
      {.name = "additive",
       .batch = 2,
       .seq_q = 70,
       .seq_kv = 150,
       .heads_q = 4,
       .heads_kv = 2,
       .mask = MaskKind::Additive},
      {.name = "additive over heads",
       .seq_q = 70,
       .seq_kv = 150,
       .heads_q = 2,
       .heads_kv = 2,
       .mask = MaskKind::Additive,
       .mask_per_head = false},
      {.name = "additive and causal",
       .seq_q = 100,
       .seq_kv = 100,
       .causal = Causal::TopLeft,
       .mask = MaskKind::Additive},
      {.name = "scale", .seq_q = 30, .seq_kv = 60, .scale = 0.25F},
      {.name = "steep scale", .seq_q = 30, .seq_kv = 60, .scale = 0.5F},
      {.name = "negative scale", .seq_q = 30, .seq_kv = 60, .scale = -0.125F},
  };
}

std::vector<CaseSpec> problems() {
  std::vector<CaseSpec> all = plain_problems();
  for (const CaseSpec& c : masked_problems()) all.push_back(c);
  return all;
}

/// Largest |difference| to the reference for values of order 1.
double tolerance(DType dtype) {
  return dtype == DType::F32 ? 1e-5 : dtype == DType::F16 ? 2e-3 : 1.6e-2;
}

struct Bounds {
  double out_max;
  double out_l1;
  double lse;
};

/// How much steeper the logits are than the approximate tiers' bounds are stated for (a standard deviation of 2).
/// Rounding q and k to integers puts an error on each logit in proportion to its size, and a softmax weight is off by
/// that error: so the bounds grow in the same proportion. docs/attention.md tells users this limit.
double steepness(const CaseSpec& spec) {
  if (!spec.scale) return 1;
  return std::max(1.0, std::abs(*spec.scale) * std::sqrt(static_cast<double>(spec.head_dim)) / 2);
}

/// Exact: the common table. High: 13 bits, 2^-12 of a block's largest value on q, k, p and v. Fast: the catalog's
/// bound.
Bounds bounds(Tier tier, const CaseSpec& spec) {
  const double common = tolerance(spec.dtype);
  if (tier == Tier::Exact) return {common, spec.dtype == DType::F32 ? 2e-6 : common, 1e-5};
  const double steep = steepness(spec);
  if (tier == Tier::High) return {1.6e-2 * steep, 4e-3 * steep, 2e-3 * steep};
  return {2e-1 * steep, 2e-2 * steep, 3e-2 * steep};
}

void expect_close(AttentionCase& c, Isa isa, Tier tier, const ReferenceResult& want) {
  kernels::AttentionArgs args = c.args();
  args.isa = isa, args.tier = tier;
  const kernels::AttentionRun run = attention_forward(args);
  const std::string where =
      strings::join(c.spec().name, ", ", dtype_name(c.spec().dtype), ", ", isa_name(isa), ", ", tier_name(tier));
  ASSERT_EQ(run.status, Status::Ok) << where;
  EXPECT_EQ(run.isa, isa) << where;
  EXPECT_EQ(run.exact_redone, 0) << where;
  const CaseError e = measure(c, want);
  const Bounds b = bounds(tier, c.spec());
  EXPECT_LE(e.out_max, b.out_max) << where;
  EXPECT_LE(e.out_l1, b.out_l1) << where;
  EXPECT_LE(e.lse_max, b.lse) << where;
}

void conform(DType dtype, Tier tier) {
  for (CaseSpec spec : problems()) {
    spec.dtype = dtype;
    AttentionCase c(spec);
    const ReferenceResult want = reference_attention(c.reference());
    for (const Isa isa : isas()) expect_close(c, isa, tier, want);
  }
}

TEST(AttentionConformance, ExactFp32) {
  conform(DType::F32, Tier::Exact);
}
TEST(AttentionConformance, ExactBf16) {
  conform(DType::BF16, Tier::Exact);
}
TEST(AttentionConformance, ExactFp16) {
  conform(DType::F16, Tier::Exact);
}
TEST(AttentionConformance, HighBf16) {
  conform(DType::BF16, Tier::High);
}
TEST(AttentionConformance, HighFp32) {
  conform(DType::F32, Tier::High);
}
TEST(AttentionConformance, FastBf16) {
  conform(DType::BF16, Tier::Fast);
}
TEST(AttentionConformance, FastFp16) {
  conform(DType::F16, Tier::Fast);
}

}  // namespace
}  // namespace tessera::test
