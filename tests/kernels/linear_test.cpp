// Integer linears against a double-precision product: every instruction set with a path, both tiers, odd sizes, and
// the inputs that integers cannot hold.
#include "kernels/linear/linear.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tessera::kernels {
namespace {

struct Layer {
  int64_t rows, in, out;
  std::vector<float> x, w, bias;
};

Layer random_layer(int64_t rows, int64_t in, int64_t out) {
  std::mt19937 random(static_cast<unsigned>(rows * 7 + in * 3 + out));
  std::normal_distribution<float> normal;
  Layer layer{rows, in, out, {}, {}, {}};
  for (int64_t i = 0; i < rows * in; ++i) layer.x.push_back(normal(random));
  for (int64_t i = 0; i < out * in; ++i) layer.w.push_back(0.05F * normal(random));
  for (int64_t i = 0; i < out; ++i) layer.bias.push_back(normal(random));
  return layer;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

std::vector<double> reference(const Layer& l, LinearAfter after = LinearAfter::Nothing) {
  std::vector<double> out;
  for (int64_t r = 0; r < l.rows; ++r) {
    for (int64_t c = 0; c < l.out; ++c) {
      double sum = l.bias[static_cast<size_t>(c)];
      for (int64_t k = 0; k < l.in; ++k) {
        sum += static_cast<double>(l.x[static_cast<size_t>(r * l.in + k)]) * l.w[static_cast<size_t>(c * l.in + k)];
      }
      out.push_back(after == LinearAfter::GeluTanh ? gelu(sum) : sum);
    }
  }
  return out;
}

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Packed = std::unique_ptr<std::byte, Free>;

Packed memory_for(const Layer& l, Tier tier, Isa isa) {
  const int64_t bytes = (packed_linear_bytes(tier, isa, l.in, l.out) + 63) / 64 * 64;
  return Packed(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(bytes))));
}

LinearWeights weights_of(const Layer& l) {
  return {DType::F32, l.w.data(), l.in, l.in, l.out};
}

struct Result {
  std::vector<float> out;
  std::vector<uint8_t> refused;
  LinearRun run;
};

/// Output rows are 3 wider than the layer; what lies between must stay untouched.
constexpr float kUntouched = 12345.0F;

Result run_layer(const Layer& l, Tier tier, Isa isa, LinearAfter after = LinearAfter::Nothing,
                 const ParallelFor& parallel = {}) {
  const Packed packed = memory_for(l, tier, isa);
  EXPECT_TRUE(pack_linear(tier, isa, weights_of(l), packed.get(), parallel));
  Result result;
  const int64_t stride = l.out + 3;
  result.out.assign(static_cast<size_t>(l.rows * stride), kUntouched);
  result.refused.assign(static_cast<size_t>(l.rows), 2);
  LinearArgs args{.tier = tier, .isa = isa, .rows = l.rows, .in = l.in, .out_channels = l.out};
  args.x = l.x.data(), args.x_stride = l.in;
  args.out = result.out.data(), args.out_stride = stride;
  args.packed = packed.get(), args.bias = l.bias.data();
  args.after = after, args.refused = result.refused.data();
  result.run = linear_forward(args, parallel);
  EXPECT_EQ(result.run.isa, isa);
  return result;
}

/// Root mean square of the error over that of the reference, and of untouched memory if any was written.
double relative_error(const Layer& l, const Result& result, const std::vector<double>& want) {
  double error = 0, size = 0;
  for (int64_t r = 0; r < l.rows; ++r) {
    for (int64_t c = 0; c < l.out + 3; ++c) {
      const double got = result.out[static_cast<size_t>(r * (l.out + 3) + c)];
      if (c >= l.out) {
        EXPECT_EQ(got, kUntouched) << "row " << r << " column " << c;
        continue;
      }
      const double expected = want[static_cast<size_t>(r * l.out + c)];
      error += (got - expected) * (got - expected), size += expected * expected;
    }
  }
  return std::sqrt(error / size);
}

std::vector<Isa> paths() {
  std::vector<Isa> found;
  for (const Isa isa : available_isas()) {
    if (linear_isa(isa) == isa) found.push_back(isa);
  }
  return found;
}

/// About twice the rounding of normal data: two factors in steps of their largest value over 127 (or 4095).
double bound_of(Tier tier) {
  return tier == Tier::Fast ? 2e-2 : 9e-4;
}

class Linears : public testing::TestWithParam<Tier> {
 protected:
  void SetUp() override {
    if (paths().empty()) GTEST_SKIP() << "no integer linears on this processor";
  }
};

INSTANTIATE_TEST_SUITE_P(Tiers, Linears, testing::Values(Tier::High, Tier::Fast),
                         [](const auto& info) { return std::string(tier_name(info.param)); });

TEST_P(Linears, AreCloseToTheDoubleProductForAnySize) {
  constexpr int64_t kSizes[][3] = {{1, 1, 1},     {3, 5, 7},      {8, 512, 48},   {9, 513, 49},
                                   {17, 640, 96}, {64, 1100, 50}, {33, 129, 200}, {200, 130, 30}};
  for (const auto& [rows, in, out] : kSizes) {
    const Layer layer = random_layer(rows, in, out);
    for (const Isa isa : paths()) {
      const Result result = run_layer(layer, GetParam(), isa);
      EXPECT_EQ(result.run.status, Status::Ok);
      EXPECT_EQ(result.run.refused_rows, 0);
      EXPECT_LT(relative_error(layer, result, reference(layer)), bound_of(GetParam()))
          << rows << "x" << in << "x" << out << " " << isa_name(isa);
    }
  }
}

TEST_P(Linears, ApplyGeluAfterTheBias) {
  const Layer layer = random_layer(21, 200, 61);
  for (const Isa isa : paths()) {
    const Result result = run_layer(layer, GetParam(), isa, LinearAfter::GeluTanh);
    EXPECT_LT(relative_error(layer, result, reference(layer, LinearAfter::GeluTanh)), 1.5 * bound_of(GetParam()));
  }
}

TEST_P(Linears, GiveTheBiasForRowsOfZeros) {
  Layer layer = random_layer(10, 700, 50);
  std::fill(layer.x.begin() + 3 * 700, layer.x.begin() + 4 * 700, 0.0F);
  for (const Isa isa : paths()) {
    const Result result = run_layer(layer, GetParam(), isa);
    for (size_t c = 0; c < 50; ++c) EXPECT_EQ(result.out[3 * 53 + c], layer.bias[c]);
  }
}

TEST_P(Linears, RefuseRowsThatIntegersCannotHoldAndOnlyThose) {
  constexpr float kBad[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e19F};
  Layer layer = random_layer(40, 600, 50);
  const auto want = reference(layer);
  constexpr size_t kBadRows[] = {0, 13, 39};
  for (size_t i = 0; i < 3; ++i) layer.x[kBadRows[i] * 600 + 599 - i] = kBad[i];
  for (const Isa isa : paths()) {
    const Result result = run_layer(layer, GetParam(), isa);
    EXPECT_EQ(result.run.refused_rows, 3);
    for (size_t r = 0; r < 40; ++r) {
      const bool bad = r == 0 || r == 13 || r == 39;
      EXPECT_EQ(result.refused[r], bad ? 1 : 0) << "row " << r;
      if (bad) {
        EXPECT_EQ(result.out[r * 53], kUntouched);
      } else {
        EXPECT_NEAR(result.out[r * 53], want[r * 50], 0.2);
      }
    }
  }
}

TEST_P(Linears, KeepAnOutlierInsideItsGroupOfInputs) {
  Layer layer = random_layer(16, 2048, 48);
  for (size_t r = 0; r < 16; ++r) layer.x[r * 2048 + 5] = 3000.0F;
  for (size_t c = 0; c < 48; ++c) layer.w[c * 2048 + 5] = 0.0F;
  for (const Isa isa : paths()) {
    const Result result = run_layer(layer, GetParam(), isa);
    // The group's 512 (or 128) inputs round to steps of 12 (or 0.7): their part of the result is lost, no more. One
    // scale for all 2048 inputs would lose 0.9 (or 0.2) of it.
    EXPECT_LT(relative_error(layer, result, reference(layer)), GetParam() == Tier::Fast ? 0.6 : 0.1);
  }
}

TEST_P(Linears, DoNothingForNoRows) {
  for (const Isa isa : paths()) EXPECT_EQ(run_layer(random_layer(0, 20, 30), GetParam(), isa).run.status, Status::Ok);
}

TEST_P(Linears, RefuseWeightsThatAreNotFinite) {
  Layer layer = random_layer(1, 70, 60);
  layer.w[59 * 70 + 3] = std::numeric_limits<float>::infinity();
  for (const Isa isa : paths()) {
    const Packed packed = memory_for(layer, GetParam(), isa);
    EXPECT_FALSE(pack_linear(GetParam(), isa, weights_of(layer), packed.get()));
  }
}

void on_four_threads(void*, int64_t tasks, ParallelFor::Task task, void* data) {
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([=] {
      for (int64_t i = t; i < tasks; i += 4) task(data, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(Linears, DoNotDependOnTheNumberOfThreads) {
  for (const int64_t rows : {5, 700}) {
    const Layer layer = random_layer(rows, 300, 150);
    for (const Isa isa : paths()) {
      const Result one = run_layer(layer, GetParam(), isa);
      const Result four = run_layer(layer, GetParam(), isa, LinearAfter::Nothing, {on_four_threads, nullptr, 4});
      EXPECT_EQ(one.out, four.out);
    }
  }
}

TEST_P(Linears, ReadAndWriteSixteenBitNumbers) {
  const Layer layer = random_layer(11, 96, 20);
  const auto bf16 = [](float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); };
  std::vector<uint16_t> x, w, out(11 * 20);
  Layer rounded = layer;
  for (float& v : rounded.x) x.push_back(bf16(v)), v = std::bit_cast<float>(uint32_t{x.back()} << 16);
  for (float& v : rounded.w) w.push_back(bf16(v)), v = std::bit_cast<float>(uint32_t{w.back()} << 16);
  const auto want = reference(rounded);
  for (const Isa isa : paths()) {
    const Packed packed = memory_for(layer, GetParam(), isa);
    ASSERT_TRUE(pack_linear(GetParam(), isa, {DType::BF16, w.data(), 96, 96, 20}, packed.get()));
    std::vector<uint8_t> refused(11);
    LinearArgs args{.tier = GetParam(), .isa = isa, .dtype = DType::BF16, .rows = 11, .in = 96, .out_channels = 20};
    args.x = x.data(), args.x_stride = 96, args.out = out.data(), args.out_stride = 20;
    args.packed = packed.get(), args.bias = layer.bias.data(), args.refused = refused.data();
    ASSERT_EQ(linear_forward(args).status, Status::Ok);
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_NEAR(std::bit_cast<float>(uint32_t{out[i]} << 16), want[i], 0.03 + 0.008 * std::abs(want[i]));
    }
  }
}

TEST(LinearPaths, AreOnlyThoseWithByteProducts) {
  EXPECT_EQ(linear_isa(Isa::Scalar), Isa::Auto);
  EXPECT_EQ(packed_linear_bytes(Tier::Fast, Isa::Scalar, 64, 64), 0);
  LinearArgs args{.isa = Isa::Scalar, .rows = 1, .in = 1, .out_channels = 1};
  EXPECT_EQ(linear_forward(args).status, Status::IsaMissing);
}

}  // namespace
}  // namespace tessera::kernels
