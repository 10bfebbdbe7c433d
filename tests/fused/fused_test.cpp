// The fused pieces against the same steps done one after the other through memory: float32 is equal bit for bit.
#include "kernels/fused/fused.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/fused/half.h"
#include "kernels/fused/row_math.h"

namespace tessera::kernels::fused {
namespace {

/// Numbers without a pattern in -2 … 2, the same on every machine.
std::vector<float> numbers(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float& v : values) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) * 0x1p-22f - 2.0f;
  }
  return values;
}

/// Sum in the order of a warp, written out without the lanes' code.
template <typename F>
float warp_sum(const float* row, int64_t dim, F f) {
  std::vector<float> lanes(32, 0.0f);
  for (int64_t i = 0; i < dim; i += 2) {
    float& lane = lanes[static_cast<size_t>(i / 2 % 32)];
    lane = lane + f(row[i]);
    lane = lane + f(row[i + 1]);
  }
  for (size_t away : {16, 8, 4, 2, 1}) {
    for (size_t i = 0; i < away; ++i) lanes[i] = lanes[i] + lanes[i + away];
  }
  return lanes[0];
}

struct Qk {
  int64_t batch = 2, seq = 5, heads = 3, dim = 0;
  std::vector<float> x, weight, turns, out;

  explicit Qk(int64_t d) : dim(d) {
    const auto count = static_cast<size_t>(batch * seq * heads * dim);
    x = numbers(count, 1), weight = numbers(static_cast<size_t>(dim), 2);
    turns = numbers(static_cast<size_t>(seq * dim), 3), out.resize(count);
  }
  QkNormRope args() {
    QkNormRope a{.in = x.data(), .out = out.data(), .weight = weight.data(), .rotation = turns.data()};
    a.batch = batch, a.seq = seq, a.heads = heads, a.dim = dim, a.eps = 1e-6f;
    const int64_t strides[3] = {seq * heads * dim, heads * dim, dim};
    std::copy_n(strides, 3, a.in_strides);
    std::copy_n(strides, 3, a.out_strides);
    return a;
  }
  /// Norm into memory, then the rotation of what was stored.
  std::vector<float> unfused() const {
    std::vector<float> normed(x.size()), turned(x.size());
    for (int64_t row = 0; row < batch * seq * heads; ++row) {
      const float* in = x.data() + row * dim;
      const float squares = warp_sum(in, dim, [](float v) { return v * v; });
      const float scale = 1.0f / std::sqrt(squares / static_cast<float>(dim) + 1e-6f);
      for (int64_t i = 0; i < dim; ++i) {
        const float scaled = in[i] * scale;
        normed[static_cast<size_t>(row * dim + i)] = scaled * weight[static_cast<size_t>(i)];
      }
    }
    for (size_t i = 0; i < x.size(); i += 2) {
      const size_t token = i / static_cast<size_t>(heads * dim) % static_cast<size_t>(seq);
      const size_t t = token * static_cast<size_t>(dim) + i % static_cast<size_t>(dim);
      const float a = normed[i] * turns[t], b = normed[i + 1] * turns[t + 1];
      const float c = normed[i] * turns[t + 1], d = normed[i + 1] * turns[t];
      turned[i] = a - b, turned[i + 1] = c + d;
    }
    return turned;
  }
};

TEST(FusedQkNormRope, EqualsNormThenRopeBitForBit) {
  for (const int64_t dim : {2, 40, 64, 72, 128, 256}) {
    Qk qk(dim);
    const auto want = qk.unfused();
    qk_norm_rope_cpu(qk.args());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(qk.out[i]), std::bit_cast<uint32_t>(want[i])) << dim << " at " << i;
    }
  }
}

TEST(FusedQkNormRope, TakesStridesAndWorksInPlace) {
  Qk dense(64);
  qk_norm_rope_cpu(dense.args());
  // The same numbers as the middle third of packed query, key, value rows.
  Qk packed(64);
  std::vector<float> memory(packed.x.size() * 3, 9.0f);
  const auto heads = static_cast<size_t>(packed.heads * packed.dim);
  for (size_t i = 0; i < packed.x.size(); ++i) memory[i / heads * heads * 3 + heads + i % heads] = packed.x[i];
  QkNormRope a = packed.args();
  a.in = a.out = memory.data() + heads;
  for (int64_t* strides : {a.in_strides, a.out_strides}) strides[0] *= 3, strides[1] *= 3;
  qk_norm_rope_cpu(a);
  for (size_t i = 0; i < dense.out.size(); ++i) {
    ASSERT_EQ(memory[i / heads * heads * 3 + heads + i % heads], dense.out[i]) << i;
  }
  EXPECT_EQ(memory[0], 9.0f);
}

TEST(FusedModulate, EqualsNormThenScaleThenShiftBitForBit) {
  constexpr int64_t kBatch = 2, kSeq = 3;
  for (const int64_t dim : {2, 66, 768}) {
    const auto x = numbers(static_cast<size_t>(kBatch * kSeq * dim), 4);
    const auto scale = numbers(static_cast<size_t>(kBatch * dim), 5), shift = numbers(scale.size(), 6);
    std::vector<float> out(x.size());
    modulate_cpu({.in = x.data(),
                  .out = out.data(),
                  .scale = scale.data(),
                  .shift = shift.data(),
                  .batch = kBatch,
                  .seq = kSeq,
                  .dim = dim,
                  .eps = 1e-6f});
    for (int64_t row = 0; row < kBatch * kSeq; ++row) {
      const float* in = x.data() + row * dim;
      const float mean = warp_sum(in, dim, [](float v) { return v; }) / static_cast<float>(dim);
      const float squares = warp_sum(in, dim, [&](float v) { return (v - mean) * (v - mean); });
      const float norm = 1.0f / std::sqrt(squares / static_cast<float>(dim) + 1e-6f);
      for (int64_t i = 0; i < dim; ++i) {
        const auto vector = static_cast<size_t>(row / kSeq * dim + i);
        const float normed = (in[i] - mean) * norm;
        const float scaled = normed * (1.0f + scale[vector]);
        ASSERT_EQ(out[static_cast<size_t>(row * dim + i)], scaled + shift[vector]) << dim << " row " << row;
      }
    }
  }
}

TEST(FusedHalf, EveryHalfAndBfloat16ComesBackFromFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half{static_cast<uint16_t>(bits)};
    const Bfloat16 brain{static_cast<uint16_t>(bits)};
    if (!std::isnan(to_float(half))) {
      ASSERT_EQ(from_float<Half>(to_float(half)).bits, bits);
    }
    if (!std::isnan(to_float(brain))) {
      ASSERT_EQ(from_float<Bfloat16>(to_float(brain)).bits, bits);
    }
  }
  EXPECT_EQ(from_float<Half>(65536.0f).bits, 0x7c00);
  EXPECT_EQ(from_float<Half>(1.0f + 0x1p-11f).bits, 0x3c00);  // a tie goes to the even neighbour
  EXPECT_TRUE(std::isnan(to_float(from_float<Half>(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace tessera::kernels::fused
