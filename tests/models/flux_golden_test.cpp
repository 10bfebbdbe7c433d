#include "apps/golden_check/pipelines.h"

#include <gtest/gtest.h>

#include "tests/models/golden_data.h"

namespace tessera::models {

TEST(FluxGolden, EveryTensorOfTheGoldenCasesAgrees) {
  for (const char* name : {"flux1-dev", "flux1-schnell"}) {
    const golden::GoldenReport report = golden::check_pipeline(golden(std::string("pipelines/") + name));
    EXPECT_GE(report.checked, 50) << name;
    for (const auto& failure : report.failed) {
      ADD_FAILURE() << name << " " << failure.name << ": got " << failure.got << ", want " << failure.want;
    }
  }
}

// The reference's run is described in tests/golden/modules/make_modules.py.
TEST(FluxGolden, TrueClassifierFreeGuidanceAgrees) {
  pipeline::GenerateRequest request;
  request.prompt = "a quiet harbour at night";
  request.prompt_2 = "wooden boats, blue water";
  request.negative_prompt = "blurry, low quality";
  request.true_cfg_scale = 3.0;
  request.height = 64;
  request.width = 48;
  request.num_inference_steps = 3;
  request.guidance_scale = 2.0;
  request.max_sequence_length = 32;
  request.seed = 11;
  MapTrace trace;
  pipeline::Context context;
  context.trace = &trace;
  generate(flux_model(), request, context);
  const weights::WeightMap want = golden_tensors("true_cfg");
  for (const char* name : {"step0/latents", "step1/latents", "step2/latents"}) {
    EXPECT_LT(deviation(trace.kept.at(name), want.get(name, {1, -1, -1})), 5e-4) << name;
  }
  const at::Tensor image = (trace.kept.at("vae/decode/out") * 0.5 + 0.5).clamp(0, 1);
  EXPECT_LT(deviation(image, want.get("image", {1, 3, 64, 48})), 5e-4);
}

TEST(FluxGolden, ATraceChangesNoPixel) {
  pipeline::GenerateRequest request;
  request.prompt = "a fox";
  request.height = request.width = 32;
  request.num_inference_steps = 2;
  request.max_sequence_length = 16;
  MapTrace trace;
  pipeline::Context traced;
  traced.trace = &trace;
  pipeline::Context plain;
  EXPECT_TRUE(at::equal(generate(flux_model(), request, traced).frames, generate(flux_model(), request, plain).frames));
  EXPECT_EQ(plain.timings.denoise.size(), 2u);
}

}  // namespace tessera::models
