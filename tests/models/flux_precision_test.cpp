#include <gtest/gtest.h>

#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

pipeline::GenerateRequest request() {
  pipeline::GenerateRequest r;
  r.prompt = "A red bicycle leans against a yellow wall, 35mm photo";
  r.height = 64;
  r.width = 64;
  r.num_inference_steps = 4;
  r.max_sequence_length = 64;
  r.seed = 42;
  return r;
}

struct RunResult {
  at::Tensor latents;
  at::Tensor frames;
};

RunResult run(at::ScalarType dtype) {
  MapTrace trace;
  pipeline::Context context;
  context.trace = &trace;
  context.dtype = dtype;
  const at::Tensor frames = generate(flux_model(), request(), context).frames;
  EXPECT_EQ(trace.kept.at("step0/cond/transformer_blocks.0/0").scalar_type(), dtype);
  return {trace.kept.at("step3/latents"), frames};
}

double rms_error(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor w = want.to(at::kDouble);
  return std::sqrt((got.to(at::kDouble) - w).square().mean().item<double>() / w.square().mean().item<double>());
}

}  // namespace

// Relative RMS error of the final latents against float32, over text encoders, transformer and four steps. The
// weights are random, so errors grow faster than in a trained model. Measured (AVX-512): bf16 8.2e-3 and 6.2e-3 of the
// pixels, fp16 1.0e-3 and 1.5e-3; the bounds leave room for other kernels.
TEST(FluxPrecision, SixteenBitRunsStayCloseToFloat32) {
  const RunResult exact = run(at::kFloat);
  const struct {
    at::ScalarType dtype;
    double latents, pixels;
  } cases[] = {{at::kBFloat16, 0.02, 0.02}, {at::kHalf, 0.003, 0.005}};
  for (const auto& c : cases) {
    const RunResult got = run(c.dtype);
    EXPECT_TRUE(at::isfinite(got.latents).all().item<bool>());
    EXPECT_LT(rms_error(got.latents, exact.latents), c.latents) << c10::toString(c.dtype);
    EXPECT_LT(rms_error(got.frames, exact.frames), c.pixels) << c10::toString(c.dtype);
  }
}

}  // namespace tessera::models
