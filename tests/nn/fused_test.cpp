// What the layers hand to the fused kernels, with the CPU twins in their place: they are bit-equal to the CUDA kernels.
#include "nn/fused.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "nn/modulation.h"
#include "nn/rope.h"

namespace tessera::nn {
namespace {

int twin_modulate(const kernels::fused::Modulate& args, void*) {
  kernels::fused::modulate_cpu(args);
  return 0;
}
int twin_qk_norm_rope(const kernels::fused::QkNormRope& args, void*) {
  kernels::fused::qk_norm_rope_cpu(args);
  return 0;
}
constexpr FusedKernels kTwins = {twin_modulate, twin_qk_norm_rope};

double off(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor g = got.to(at::kDouble), w = want.to(at::kDouble);
  return ((g - w).abs().max() / w.abs().max()).item<double>();
}

/// One rounding of the type, and one more for what the layers round in between.
double bound(at::ScalarType type) {
  return type == at::kFloat ? 1e-6 : type == at::kHalf ? 2e-3 : 1.6e-2;
}

TEST(Fused, ModulationOfPartsOfOneProductEqualsTheLayers) {
  at::manual_seed(1);
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    for (const int64_t batch : {1, 3}) {
      const at::Tensor x = at::randn({batch, 7, 96}).to(type);
      const auto parts = at::randn({batch, 6 * 96}).to(type).chunk(6, 1);
      const auto out = fused_modulate(kTwins, x, parts[1], parts[4], 1e-6);
      ASSERT_TRUE(out);
      EXPECT_EQ(out->scalar_type(), type);
      EXPECT_LE(off(*out, ada_layer_norm(x, parts[1], parts[4], 1e-6)), bound(type)) << type << batch;
    }
  }
}

TEST(Fused, NormAndRotationOfStridedHeadsEqualTheLayers) {
  at::manual_seed(2);
  const RotaryTable table = rotary_table(at::randn({7, 2}).mul(20).round(), {16, 48});
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16}) {
    const at::Tensor packed = at::randn({2, 7, 3, 5, 64}).to(type), weight = at::randn({64}).to(type);
    const at::Tensor x = packed.select(2, 1);  // a third of packed queries, keys and values
    const auto out = fused_norm_rotary(kTwins, x, weight, table.rotation, 1e-6);
    ASSERT_TRUE(out);
    EXPECT_TRUE(out->is_contiguous());
    const at::Tensor want = apply_rotary(at::rms_norm(x, {64}, weight, 1e-6), table);
    EXPECT_LE(off(*out, want), bound(type)) << type;
  }
}

TEST(Fused, WhatTheKernelsDoNotTakeIsLeftToTheLayers) {
  const at::Tensor x = at::ones({1, 4, 6}), row = at::ones({1, 6}), odd = at::ones({1, 4, 7}),
                   odd_row = at::ones({1, 7});
  EXPECT_FALSE(fused_modulate(kTwins, odd, odd_row, odd_row, 1e-6)) << "channels are read in pairs";
  EXPECT_FALSE(fused_modulate(kTwins, x, row.to(at::kHalf), row.to(at::kHalf), 1e-6)) << "two types";
  EXPECT_FALSE(fused_modulate(kTwins, x.to(at::kDouble), row.to(at::kDouble), row.to(at::kDouble), 1e-6));
  EXPECT_FALSE(fused_modulate(kTwins, x, at::ones({1, 4, 6}), row, 1e-6)) << "a scale of each token";
  EXPECT_FALSE(fused_modulate(kTwins, at::ones({1, 6, 4}).transpose(1, 2), row, row, 1e-6)) << "not dense";
  const at::Tensor heads = at::ones({1, 4, 2, 6}), turns = at::ones({4, 3}, at::kComplexFloat);
  EXPECT_TRUE(fused_norm_rotary(kTwins, heads, at::ones({6}), turns, 1e-6));
  EXPECT_FALSE(fused_norm_rotary(kTwins, heads, at::ones({6}, at::kHalf), turns, 1e-6));
  EXPECT_FALSE(fused_norm_rotary(kTwins, heads, at::ones({6}), turns.unsqueeze(0), 1e-6)) << "rows of a batch differ";
}

TEST(Fused, AFailedLaunchIsAFaultOfTheDevice) {
  const FusedKernels broken = {[](const kernels::fused::Modulate&, void*) { return 700; }, twin_qk_norm_rope};
  const at::Tensor x = at::ones({1, 4, 6}), row = at::ones({1, 6});
  try {
    fused_modulate(broken, x, row, row, 1e-6);
    FAIL() << "it was not noticed";
  } catch (const RuntimeFault& fault) {
    EXPECT_EQ(fault.error.code, ErrorCode::DeviceFault);
    EXPECT_NE(fault.error.what.find("700"), std::string::npos);
  }
}

TEST(Fused, OnlyCudaDevicesOfCudaBuildsHaveKernels) {
  EXPECT_EQ(fused_kernels(at::kCPU), nullptr);
  EXPECT_EQ(fused_kernels(at::kMeta), nullptr);
  EXPECT_EQ(fused_kernels(at::Device(at::kCUDA, 0)) != nullptr, kernels::fused::has_cuda_kernels());
}

}  // namespace
}  // namespace tessera::nn
