// The fused pieces against what the models compute today through LibTorch.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include "kernels/fused/fused.h"
#include "nn/modulation.h"
#include "nn/rope.h"

namespace tessera::kernels::fused {
namespace {

at::Tensor numbers(at::IntArrayRef sizes, double step) {
  int64_t count = 1;
  for (const int64_t n : sizes) count *= n;
  return (at::arange(count, at::kDouble) * step).sin().mul(2).to(at::kFloat).view(sizes);
}

/// Largest difference in units of the largest value.
double relative(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor g = got.to(at::kDouble), w = want.to(at::kDouble);
  return ((g - w).abs().max() / w.abs().max()).item<double>();
}

TEST(FusedAgainstLibTorch, QkNormRopeDiffersByRoundingOnly) {
  constexpr int64_t kHeads = 3, kDim = 128;
  const at::Tensor x = numbers({2, 7, kHeads, kDim}, 0.7), weight = numbers({kDim}, 0.3);
  const at::Tensor ids = numbers({7, 2}, 5).mul(20).round();
  const nn::RotaryTable table = nn::rotary_table(ids, {64, 64});
  const at::Tensor want = nn::apply_rotary(at::rms_norm(x, {kDim}, weight, 1e-6), table);
  at::Tensor out = at::empty_like(x);
  const at::Tensor turns = at::view_as_real(table.rotation).contiguous();
  QkNormRope a{.in = x.const_data_ptr(),
               .out = out.data_ptr(),
               .weight = weight.const_data_ptr(),
               .rotation = turns.const_data_ptr<float>()};
  a.batch = 2, a.seq = 7, a.heads = kHeads, a.dim = kDim, a.eps = 1e-6f;
  for (int64_t* strides : {a.in_strides, a.out_strides}) {
    strides[0] = x.stride(0), strides[1] = x.stride(1), strides[2] = x.stride(2);
  }
  qk_norm_rope_cpu(a);
  EXPECT_LT(relative(out, want), 5e-7);
}

TEST(FusedAgainstLibTorch, ModulateDiffersByRoundingOnly) {
  const at::Tensor x = numbers({2, 5, 768}, 0.9), scale = numbers({2, 768}, 0.4), shift = numbers({2, 768}, 0.2);
  const at::Tensor want = nn::ada_layer_norm(x, scale, shift, 1e-6);
  at::Tensor out = at::empty_like(x);
  modulate_cpu({.in = x.const_data_ptr(),
                .out = out.data_ptr(),
                .scale = scale.const_data_ptr(),
                .shift = shift.const_data_ptr(),
                .batch = 2,
                .seq = 5,
                .dim = 768,
                .eps = 1e-6f});
  EXPECT_LT(relative(out, want), 5e-7);
}

TEST(FusedAgainstLibTorch, SixteenBitRowsAreRoundedOnce) {
  for (const auto& [type, element, bound] :
       {std::tuple{at::kHalf, Element::F16, 5e-4}, std::tuple{at::kBFloat16, Element::BF16, 4e-3}}) {
    const at::Tensor x = numbers({1, 4, 256}, 0.9).to(type), scale = numbers({1, 256}, 0.4).to(type);
    const at::Tensor want = nn::ada_layer_norm(x.to(at::kFloat), scale.to(at::kFloat), scale.to(at::kFloat), 1e-6);
    at::Tensor out = at::empty_like(x);
    modulate_cpu({.in = x.const_data_ptr(),
                  .out = out.data_ptr(),
                  .scale = scale.const_data_ptr(),
                  .shift = scale.const_data_ptr(),
                  .batch = 1,
                  .seq = 4,
                  .dim = 256,
                  .eps = 1e-6f,
                  .element = element});
    EXPECT_LT(relative(out, want.to(type)), bound);
  }
}

}  // namespace
}  // namespace tessera::kernels::fused
