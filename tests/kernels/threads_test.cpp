// Threads and memory of attention_forward: the same bits for any number of threads, bounded memory, many callers.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tests/kernels/attention_case.h"

namespace tessera::test {
namespace {

using kernels::Causal;
using kernels::Isa;
using kernels::MaskKind;
using kernels::Tier;

constexpr int64_t kMostScratch = 2 << 20;

/// Result and log-sum-exp as bytes.
std::vector<std::byte> answer(const AttentionCase& c) {
  std::vector<std::byte> bytes = c.out_bytes;
  const CaseSpec& s = c.spec();
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads_q; ++h) {
      for (int64_t i = 0; i < s.seq_q; ++i) {
        const float lse = c.lse(b, h, i);
        const auto* p = reinterpret_cast<const std::byte*>(&lse);
        bytes.insert(bytes.end(), p, p + sizeof(lse));
      }
    }
  }
  return bytes;
}

/// Problems that different numbers of threads cut differently: one head or several, and more than one chunk of it.
std::vector<CaseSpec> splits() {
  return {
      {.name = "one head", .seq_q = 700, .seq_kv = 300},
      {.name = "groups", .batch = 2, .seq_q = 130, .seq_kv = 300, .heads_q = 4, .heads_kv = 2},
      {.name = "causal", .dtype = DType::BF16, .seq_q = 700, .seq_kv = 700, .causal = Causal::TopLeft},
      {.name = "causal, other end", .seq_q = 300, .seq_kv = 420, .heads_q = 2, .causal = Causal::BottomRight},
      {.name = "lengths",
       .batch = 2,
       .seq_q = 260,
       .seq_kv = 390,
       .heads_q = 2,
       .heads_kv = 2,
       .key_lengths = {390, 70}},
      {.name = "mask", .seq_q = 300, .seq_kv = 290, .heads_q = 2, .heads_kv = 1, .mask = MaskKind::Additive},
      {.name = "chunks", .dtype = DType::F16, .seq_q = 2300, .seq_kv = 140, .head_dim = 128, .value_dim = 128},
      {.name = "causal chunks",
       .dtype = DType::BF16,
       .seq_q = 1300,
       .seq_kv = 1300,
       .heads_q = 2,
       .heads_kv = 2,
       .head_dim = 128,
       .value_dim = 128,
       .causal = Causal::TopLeft},
  };
}

TEST(AttentionThreads, TheNumberOfThreadsDoesNotChangeABit) {
  for (const CaseSpec& spec : splits()) {
    AttentionCase c(spec);
    for_every_path([&](Isa isa, Tier tier, const std::string& where) {
      if (isa == Isa::Scalar && (tier != Tier::Exact || spec.seq_q > 1000)) return;  // slow, and one code for all tiers
      run(c, isa, tier, 1);
      const std::vector<std::byte> one = answer(c);
      for (const int threads : {2, 3, 5, 70}) {
        std::ranges::fill(c.out_bytes, std::byte{0x5A});
        run(c, isa, tier, threads);
        EXPECT_TRUE(one == answer(c)) << spec.name << ", " << where << ", " << threads << " threads";
      }
    });
  }
}

TEST(AttentionThreads, ARedoneStripDoesNotDependOnThem) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    AttentionCase c({.seq_q = 1500, .seq_kv = 300, .heads_q = 2, .heads_kv = 2, .causal = Causal::TopLeft});
    for (int64_t d = 0; d < 64; ++d) c.set('v', 0, 200, 1, d, std::numeric_limits<float>::infinity());
    if (isa == Isa::Scalar && tier != Tier::Exact) return;
    const kernels::AttentionRun first = run(c, isa, tier, 1);
    EXPECT_EQ(first.exact_redone > 0, first.arithmetic != Tier::Exact) << where;
    const std::vector<std::byte> one = answer(c);
    for (const int threads : {2, 3, 5}) {
      EXPECT_EQ(run(c, isa, tier, threads).exact_redone, first.exact_redone) << where;
      EXPECT_TRUE(one == answer(c)) << where << ", " << threads << " threads";
    }
  });
}

TEST(AttentionThreads, CallersAtTheSameTimeDoNotDisturbEachOther) {
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    if (isa == Isa::Scalar && tier != Tier::Exact) return;
    std::vector<AttentionCase> cases;
    std::vector<std::vector<std::byte>> alone;
    for (int64_t i = 0; i < 6; ++i) {
      cases.emplace_back(CaseSpec{.seq_q = 40 + 90 * i, .seq_kv = 330 - 50 * i, .heads_q = 2, .heads_kv = 1});
      run(cases.back(), isa, tier, 1);
      alone.push_back(answer(cases.back()));
      std::ranges::fill(cases.back().out_bytes, std::byte{0x5A});
    }
    {
      std::vector<std::jthread> callers;
      for (size_t i = 0; i < cases.size(); ++i) {
        callers.emplace_back([&, i] {
          for (int round = 0; round < 5; ++round) run(cases[i], isa, tier, static_cast<int>(1 + i % 3));
        });
      }
    }
    for (size_t i = 0; i < cases.size(); ++i) EXPECT_TRUE(alone[i] == answer(cases[i])) << where << ", caller " << i;
  });
}

/// Bytes of one packed copy of all keys and values in fp32: rows as wide as registers, whole groups of blocks, and a
/// twentieth for the padding between tiles.
int64_t one_copy(const CaseSpec& s) {
  const auto up = [](int64_t n, int64_t step) { return (n + step - 1) / step * step; };
  const int64_t row = up(s.head_dim, 16) + up(s.value_dim, 16);
  return s.batch * s.heads_kv * up(s.seq_kv, 256) * row * 4 * 21 / 20;
}

TEST(AttentionMemory, StaysWithinTwoMiBAThreadAndOneCopyOfTheKeys) {
  const std::vector<CaseSpec> specs = {
      {.name = "d 128", .seq_q = 2200, .seq_kv = 500, .heads_q = 3, .heads_kv = 3, .head_dim = 128, .value_dim = 128},
      {.name = "d 64", .batch = 2, .seq_q = 2000, .seq_kv = 300, .heads_q = 4, .heads_kv = 2},
      {.name = "d 256", .seq_q = 1500, .seq_kv = 300, .heads_q = 2, .heads_kv = 2, .head_dim = 256, .value_dim = 256},
      {.name = "d 1", .seq_q = 9000, .seq_kv = 300, .heads_q = 2, .heads_kv = 2, .head_dim = 1, .value_dim = 1},
      {.name = "small", .seq_q = 77, .seq_kv = 77, .heads_q = 2, .heads_kv = 2},
  };
  for (const CaseSpec& spec : specs) {
    AttentionCase c(spec);
    for_every_path([&](Isa isa, Tier tier, const std::string& where) {
      if (isa == Isa::Scalar) return;  // a few rows of logits, no scratch memory
      for (const int threads : {1, 2, 8}) {
        const kernels::AttentionRun r = run(c, isa, tier, threads);
        EXPECT_GT(r.scratch_bytes, 0) << spec.name << ", " << where;
        EXPECT_LE(r.scratch_bytes, kMostScratch) << spec.name << ", " << where << ", " << threads << " threads";
        EXPECT_LE(r.key_bytes, one_copy(spec)) << spec.name << ", " << where << ", " << threads << " threads";
      }
    });
  }
}

TEST(AttentionMemory, ChunksOfAHeadShareItsPackedKeys) {
  AttentionCase c({.seq_q = 2200, .seq_kv = 300, .heads_q = 3, .heads_kv = 3, .head_dim = 128, .value_dim = 128});
  AttentionCase small({.seq_q = 200, .seq_kv = 300, .heads_q = 3, .heads_kv = 3});
  for_every_path([&](Isa isa, Tier tier, const std::string& where) {
    if (isa == Isa::Scalar) return;
    EXPECT_GT(run(c, isa, tier, 3).key_bytes, 0) << where;
    EXPECT_EQ(run(small, isa, tier, 3).key_bytes, 0) << where << ": one chunk needs no copy";
  });
}

}  // namespace
}  // namespace tessera::test
