#include <gtest/gtest.h>

#include "nn/activation.h"
#include "nn/modulation.h"
#include "nn/timestep_embedding.h"

namespace tessera::nn {

TEST(Modulation, TheOnePassFormEqualsTheWrittenOutForm) {
  for (const int64_t batch : {1, 3}) {
    const at::Tensor x = at::randn({batch, 4, 16});
    const at::Tensor scale = at::randn({batch, 16});
    const at::Tensor shift = at::randn({batch, 16});
    const at::Tensor want = at::layer_norm(x, {16}, {}, {}, 1e-6) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1);
    EXPECT_LT((ada_layer_norm(x, scale, shift, 1e-6) - want).abs().max().item<float>(), 1e-5f) << batch;
  }
}

TEST(Modulation, AGatedAddScalesTheBranchPerChannel) {
  const at::Tensor residual = at::randn({2, 3, 4});
  const at::Tensor x = at::randn({2, 3, 4});
  const at::Tensor gate = at::randn({2, 4});
  EXPECT_LT((gated_add(residual, gate, x) - (residual + gate.unsqueeze(1) * x)).abs().max().item<float>(), 1e-6f);
}

// get_timestep_embedding(tensor([250.]), 6, flip_sin_to_cos=True, downscale_freq_shift=0) of diffusers 0.42.1.
TEST(SinusoidalEmbedding, CosinesComeFirst) {
  const at::Tensor out = sinusoidal_embedding(at::full({1}, 250.0), {.dim = 6});
  for (int64_t i = 0; i < 3; ++i) {
    const double angle = 250.0 * std::exp(-std::log(10000.0) * static_cast<double>(i) / 3);
    EXPECT_NEAR(out[0][i].item<float>(), std::cos(angle), 3e-5);
    EXPECT_NEAR(out[0][i + 3].item<float>(), std::sin(angle), 3e-5);
  }
}

TEST(SinusoidalEmbedding, AnOddSizeEndsWithAZero) {
  EXPECT_EQ(sinusoidal_embedding(at::ones({2}), {.dim = 7})[1][6].item<float>(), 0.0f);
}

TEST(Activation, QuickGeluIsASigmoidGate) {
  const at::Tensor x = at::randn({10});
  const at::Tensor want = x * (1.702 * x).sigmoid();
  EXPECT_LT((activate(Activation::QuickGelu, x.clone()) - want).abs().max().item<float>(), 1e-6f);
}

TEST(Activation, AnUnknownNameIsUnsupported) {
  EXPECT_EQ(parse_activation("gelu_new").value(), Activation::GeluTanh);
  const auto parsed = parse_activation("softmoo");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::Unsupported);
}

}  // namespace tessera::nn
