// What attention_forward promises beside the numbers: masked keys, NaN, threads, layouts, refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/kernels/attention_case.h"

namespace tessera::test {
namespace {

using kernels::Causal;
using kernels::Isa;
using kernels::MaskKind;
using kernels::Status;
using kernels::Tier;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(AttentionSemantics, TheForcedPathIsTheOneThatRuns) {
  AttentionCase c({.seq_q = 20, .seq_kv = 20});
  for_every_path([&](Isa isa, Tier tier, const std::string& where) { EXPECT_EQ(run(c, isa, tier).isa, isa) << where; });
}

TEST(AttentionSemantics, NaNBeyondTheKeyLengthIsHarmless) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase clean({.batch = 2, .seq_q = 70, .seq_kv = 200, .key_lengths = {131, 77}});
    run(clean, isa, tier);
    AttentionCase dirty(clean.spec());
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t s = clean.spec().key_lengths[static_cast<size_t>(b)]; s < 200; ++s) {
        for (int64_t d = 0; d < 64; ++d) dirty.set('k', b, s, 0, d, kNaN), dirty.set('v', b, s, 0, d, kInfinity);
      }
    }
    EXPECT_EQ(run(dirty, isa, tier).exact_redone, 0) << where;
    EXPECT_EQ(clean.out_bytes, dirty.out_bytes) << where;
  });
}

TEST(AttentionSemantics, NaNBehindABoolMaskIsHarmless) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.seq_q = 70, .seq_kv = 200, .mask = MaskKind::Bool});
    for (int64_t i = 0; i < 70; ++i) c.set_mask(0, 0, i, 150, -kInfinity), c.set_mask(0, 0, i, 3, -kInfinity);
    for (int64_t d = 0; d < 64; ++d) c.set('k', 0, 150, 0, d, kNaN), c.set('v', 0, 3, 0, d, kNaN);
    run(c, isa, tier);
    const CaseError e = measure(c, reference_attention(c.reference()));
    EXPECT_LE(e.out_l1, tier == Tier::Fast ? 2e-2 : 2e-3) << where;
  });
}

TEST(AttentionSemantics, NaNOfALaterTokenIsInvisibleUnderCausality) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.seq_q = 100, .seq_kv = 100, .causal = Causal::TopLeft});
    for (int64_t d = 0; d < 64; ++d) c.set('k', 0, 60, 0, d, kNaN), c.set('v', 0, 60, 0, d, kNaN);
    run(c, isa, tier);
    for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(std::isnan(c.out(0, i, 0, 5)), i >= 60) << where << " row " << i;
  });
}

TEST(AttentionSemantics, NaNThatTakesPartPropagates) {
  for (const char which : {'q', 'k', 'v'}) {
    for_every_path([&](Isa isa, Tier tier, const std::string& where) {
      AttentionCase c({.seq_q = 60, .seq_kv = 150, .heads_q = 2, .heads_kv = 2});
      c.set(which, 0, 41, 1, 7, kNaN);
      run(c, isa, tier);
      for (int64_t i = 0; i < 60; ++i) {
        EXPECT_FALSE(std::isnan(c.out(0, i, 0, 7))) << where << " other head, row " << i;
        EXPECT_EQ(std::isnan(c.out(0, i, 1, 7)), which != 'q' || i == 41) << where << ' ' << which << " row " << i;
      }
    });
  }
}

/// Rounding errors of a logit of amplitude 60: a step is 240 / 127 (the largest of 64 normal values is about 4 of them,
/// 7 bits and a sign), so an error of uniform rounding is 0.55, times 60, twice (q and k), over 64 products, times 1/8:
/// a standard deviation of 46. The largest of 50 rows stays within 3.3 of them. 13 bits have steps 32 times finer.
double lse_bound(Tier tier) {
  if (tier == Tier::Exact) return 2e-2;
  return tier == Tier::High ? 150.0 / 32 : 150;
}

TEST(AttentionSemantics, HugeLogitsDoNotOverflow) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.seq_q = 50, .seq_kv = 150, .amplitude = 60});
    run(c, isa, tier);
    const CaseError e = measure(c, reference_attention(c.reference()));
    EXPECT_LE(e.lse_max, lse_bound(tier)) << where;
    // With logits of 3e4 the weights pick one key; a rounded logit may pick another, and values reach 4 either way.
    EXPECT_LE(e.out_max, tier == Tier::Exact ? 1e-2 : 8) << where;
  });
}

TEST(AttentionSemantics, ValuesOutOfRangeRunInFp32) {
  for (const Isa isa : isas()) {
    if (isa == Isa::Scalar) continue;
    for (const Tier tier : {Tier::High, Tier::Fast}) {
      AttentionCase c({.seq_q = 50, .seq_kv = 150});
      c.set('v', 0, 140, 0, 3, kInfinity);
      const kernels::AttentionRun ran = run(c, isa, tier);
      EXPECT_EQ(ran.exact_redone > 0, ran.arithmetic != Tier::Exact) << isa_name(isa);
      EXPECT_EQ(c.out(0, 4, 0, 3), kInfinity) << isa_name(isa);
    }
  }
}

/// Bytes need VNNI or I8MM, words a multiply-add of 16-bit pairs; a path without them takes the next more exact ones.
TEST(AttentionSemantics, ATierRunsInItsIntegersWhereThePathHasThem) {
  const std::map<Isa, std::pair<Tier, Tier>> high_and_fast = {
      {Isa::Scalar, {Tier::Exact, Tier::Exact}},   {Isa::Avx2, {Tier::High, Tier::High}},
      {Isa::AvxVnni, {Tier::High, Tier::Fast}},    {Isa::Avx512, {Tier::High, Tier::High}},
      {Isa::Avx512Vnni, {Tier::High, Tier::Fast}}, {Isa::Neon, {Tier::Exact, Tier::Exact}},
      {Isa::NeonI8mm, {Tier::Exact, Tier::Fast}},
  };
  for (const Isa isa : isas()) {
    AttentionCase c({.seq_q = 3, .seq_kv = 5});
    EXPECT_EQ(run(c, isa, Tier::Exact).arithmetic, Tier::Exact) << isa_name(isa);
    EXPECT_EQ(run(c, isa, Tier::High).arithmetic, high_and_fast.at(isa).first) << isa_name(isa);
    EXPECT_EQ(run(c, isa, Tier::Fast).arithmetic, high_and_fast.at(isa).second) << isa_name(isa);
  }
}

TEST(AttentionSemantics, TinyValuesDoNotBecomeZero) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.seq_q = 50, .seq_kv = 150});
    // Denormal in float32; one channel is enough, the others are as large as ever.
    for (int64_t j = 0; j < 150; ++j) c.set('v', 0, j, 0, 3, 1e-40F);
    run(c, isa, tier);
    EXPECT_NEAR(c.out(0, 4, 0, 3) / 1e-40F, 1.0F, 1e-2F) << where;
  });
}

TEST(AttentionSemantics, DeadRowsAreZeroWithLseMinusInfinity) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.seq_q = 60, .seq_kv = 150, .mask = MaskKind::Bool});
    for (int64_t j = 0; j < 150; ++j) c.set_mask(0, 0, 17, j, -kInfinity);
    for (int64_t j = 0; j < 128; ++j) c.set_mask(0, 0, 18, j, -kInfinity);
    run(c, isa, tier);
    for (int64_t d = 0; d < 64; ++d) EXPECT_EQ(c.out(0, 17, 0, d), 0.0F) << where;
    EXPECT_EQ(c.lse(0, 0, 17), -kInfinity) << where;
    EXPECT_TRUE(std::isfinite(c.lse(0, 0, 18))) << where;
  });
}

TEST(AttentionSemantics, ARowMaskedWithTheLowestFloatIsUniform) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.seq_q = 20, .seq_kv = 40, .mask = MaskKind::Additive});
    for (int64_t j = 0; j < 40; ++j) c.set_mask(0, 0, 3, j, std::numeric_limits<float>::lowest());
    run(c, isa, tier);
    double mean = 0;
    for (int64_t j = 0; j < 40; ++j) mean += c.get('v', 0, j, 0, 9) / 40.0;
    EXPECT_NEAR(c.out(0, 3, 0, 9), mean, tier == Tier::Fast ? 3e-2 : 2e-3) << where;
  });
}

TEST(AttentionSemantics, InputsAreNotWritten) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.dtype = DType::BF16, .seq_q = 100, .seq_kv = 130});
    const auto q = c.q, k = c.k, v = c.v;
    run(c, isa, tier);
    EXPECT_TRUE(q == c.q && k == c.k && v == c.v) << where;
  });
}

TEST(AttentionSemantics, StridedInputsGiveTheResultOfContiguousOnes) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    for (const DType dtype : {DType::F32, DType::BF16, DType::F16}) {
      // One buffer [S, 3, H, 2 * D]; q, k and v take every second element of their third.
      const int64_t s = 70, h = 2, d = 40;
      AttentionCase whole({.dtype = dtype,
                           .seq_q = s,
                           .seq_kv = s,
                           .heads_q = 3 * h,
                           .heads_kv = 3 * h,
                           .head_dim = 2 * d,
                           .value_dim = 2 * d});
      AttentionCase dense(
          {.dtype = dtype, .seq_q = s, .seq_kv = s, .heads_q = h, .heads_kv = h, .head_dim = d, .value_dim = d});
      for (int64_t i = 0; i < s; ++i) {
        for (int64_t j = 0; j < h * d; ++j) {
          dense.set('q', 0, i, j / d, j % d, whole.get('q', 0, i, j / d, j % d * 2));
          dense.set('k', 0, i, j / d, j % d, whole.get('q', 0, i, h + j / d, j % d * 2));
          dense.set('v', 0, i, j / d, j % d, whole.get('q', 0, i, 2 * h + j / d, j % d * 2));
        }
      }
      run(dense, isa, tier);
      const std::vector<std::byte> want = dense.out_bytes;
      kernels::AttentionArgs args = dense.args();
      args.isa = isa, args.tier = tier;
      const auto third = [&](int64_t n) {
        return kernels::TensorView{whole.q.data() + n * h * 2 * d * size_bytes(dtype), 0, 3 * h * 2 * d, 2 * d, 2};
      };
      args.q = third(0), args.k = third(1), args.v = third(2);
      EXPECT_EQ(attention_forward(args, fresh_threads(2)).inputs_copied, 3) << where;
      EXPECT_EQ(want, dense.out_bytes) << where << ' ' << dtype_name(dtype);
      const kernels::AttentionArgs plain = dense.args();
      args.q = plain.q, args.k = plain.k;
      EXPECT_EQ(attention_forward(args).inputs_copied, 1) << where << ": v alone";
      EXPECT_EQ(want, dense.out_bytes) << where << ' ' << dtype_name(dtype);
    }
  });
}

TEST(AttentionSemantics, BroadcastInputsAreCopiedOncePerEntryInMemory) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    // One key head of one batch row for all, its elements every second one: strides 0 stay strides 0.
    const CaseSpec spec = {
        .batch = 2, .seq_q = 40, .seq_kv = 60, .heads_q = 3, .heads_kv = 3, .head_dim = 32, .value_dim = 32};
    AttentionCase source({.seq_q = 1, .seq_kv = 60, .head_dim = 64, .value_dim = 64});
    AttentionCase c(spec);
    for (int64_t i = 0; i < 2 * 60 * 3 * 32; ++i) {
      c.set('k', i / 5760, i / 96 % 60, i / 32 % 3, i % 32, source.get('k', 0, i / 96 % 60, 0, i % 32 * 2));
    }
    run(c, isa, tier);
    const std::vector<std::byte> want = c.out_bytes;
    kernels::AttentionArgs args = c.args();
    args.isa = isa, args.tier = tier;
    args.k = {source.k.data(), 0, 64, 0, 2};
    EXPECT_EQ(attention_forward(args).inputs_copied, 1) << where;
    EXPECT_EQ(want, c.out_bytes) << where;
  });
}

TEST(AttentionSemantics, PackedSequencesEqualSingleOnes) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    const std::vector<int64_t> cu_q = {0, 30, 30, 100}, cu_k = {0, 45, 50, 130};
    AttentionCase packed({.seq_q = 100, .seq_kv = 130, .heads_q = 2, .heads_kv = 1});
    kernels::AttentionArgs args = packed.args();
    args.isa = isa, args.tier = tier, args.causal = Causal::BottomRight, args.batch = 3;
    args.cu_seqlens_q = cu_q.data(), args.cu_seqlens_k = cu_k.data();
    ASSERT_EQ(attention_forward(args).status, Status::Ok);
    for (size_t n = 0; n < 3; ++n) {
      AttentionCase single({.seq_q = cu_q[n + 1] - cu_q[n],
                            .seq_kv = cu_k[n + 1] - cu_k[n],
                            .heads_q = 2,
                            .heads_kv = 1,
                            .causal = Causal::BottomRight});
      for (int64_t i = 0; i < single.spec().seq_q * 128; ++i) {
        single.set('q', 0, i / 128, i / 64 % 2, i % 64, packed.get('q', 0, cu_q[n] + i / 128, i / 64 % 2, i % 64));
      }
      for (int64_t i = 0; i < single.spec().seq_kv * 64; ++i) {
        single.set('k', 0, i / 64, 0, i % 64, packed.get('k', 0, cu_k[n] + i / 64, 0, i % 64));
        single.set('v', 0, i / 64, 0, i % 64, packed.get('v', 0, cu_k[n] + i / 64, 0, i % 64));
      }
      run(single, isa, tier);
      for (int64_t i = 0; i < single.spec().seq_q * 128; ++i) {
        ASSERT_EQ(packed.out(0, cu_q[n] + i / 128, i / 64 % 2, i % 64), single.out(0, i / 128, i / 64 % 2, i % 64))
            << where << " sequence " << n << " element " << i;
      }
      for (int64_t i = 0; i < single.spec().seq_q; ++i) {
        ASSERT_EQ(packed.lse(0, 1, cu_q[n] + i), single.lse(0, 1, i)) << where;
      }
    }
  });
}

TEST(AttentionSemantics, LseIsOptional) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.seq_q = 70, .seq_kv = 70});
    run(c, isa, tier);
    const std::vector<std::byte> with = c.out_bytes;
    kernels::AttentionArgs args = c.args();
    args.isa = isa, args.tier = tier, args.lse = nullptr;
    attention_forward(args);
    EXPECT_EQ(with, c.out_bytes) << where;
  });
}

TEST(AttentionRefusals, NameTheReason) {
  AttentionCase c({.batch = 1});
  const auto refused = [&](auto change) {
    kernels::AttentionArgs args = c.args();
    change(args);
    return attention_forward(args).status;
  };
  using Args = kernels::AttentionArgs;
  EXPECT_EQ(refused([](Args& a) { a.dtype = DType::I8; }), Status::BadDtype);
  EXPECT_EQ(refused([](Args& a) { a.heads_q = 3, a.heads_kv = 2; }), Status::BadShape);
  EXPECT_EQ(refused([](Args& a) { a.seq_q = -1; }), Status::BadShape);
  EXPECT_EQ(refused([](Args& a) { a.head_dim = 4096; }), Status::HeadTooLarge);
  EXPECT_EQ(refused([](Args& a) { a.mask.kind = MaskKind::Additive, a.mask.dtype = DType::I32; }), Status::BadMask);
  const int64_t negative = -1;
  EXPECT_EQ(refused([&](Args& a) { a.key_lengths = &negative; }), Status::BadLengths);
}

}  // namespace
}  // namespace tessera::test
