#include <gtest/gtest.h>

#include "apps/golden_check/pipelines.h"
#include "models/qwen_image/config.h"
#include "models/qwen_image/transformer.h"
#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

std::filesystem::path model() {
  return golden("pipelines/qwen-image") / "model";
}

Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request) {
  return unwrap(open_pipeline(model()))->complete(request);
}

pipeline::GenerateRequest small_request() {
  pipeline::GenerateRequest request;
  request.prompt = "a fox";
  request.negative_prompt = "blurry";
  request.height = 32;
  request.width = 48;
  request.num_inference_steps = 2;
  return request;
}

/// At step 0 the latents are noise alone, so this is the conditional prediction's effect.
at::Tensor first_output(const pipeline::GenerateRequest& request) {
  MapTrace trace;
  pipeline::Context context;
  context.trace = &trace;
  generate(model(), request, context);
  return trace.kept.at("step0/model_output");
}

}  // namespace

// The case is a smaller relative of the published one, made by the same script: weights in bfloat16, without encoder.
TEST(QwenImageGolden, EveryTensorOfTheGoldenCaseAgrees) {
  const golden::GoldenReport report = golden::check_pipeline(golden("pipelines/qwen-image"));
  EXPECT_GE(report.checked, 50);
  for (const auto& failure : report.failed) {
    ADD_FAILURE() << failure.name << ": got " << failure.got << ", want " << failure.want;
  }
}

TEST(QwenImageGolden, ATraceChangesNoPixel) {
  MapTrace trace;
  pipeline::Context traced;
  traced.trace = &trace;
  pipeline::Context plain;
  EXPECT_TRUE(
      at::equal(generate(model(), small_request(), traced).frames, generate(model(), small_request(), plain).frames));
}

TEST(QwenImageRequest, AbsentFieldsTakeTheDefaultsOfDiffusers) {
  const auto full = complete({.prompt = "a fox"});
  ASSERT_TRUE(full);
  EXPECT_EQ(*full->height, 1024);
  EXPECT_EQ(*full->width, 1024);
  EXPECT_EQ(*full->num_inference_steps, 50);
  EXPECT_EQ(*full->true_cfg_scale, 4.0);
  EXPECT_EQ(*full->max_sequence_length, 512);
  EXPECT_FALSE(full->guidance_scale);
}

TEST(QwenImageRequest, ImpossibleRequestsAreUsageErrorsWithTheNearestSize) {
  std::vector<pipeline::GenerateRequest> bad(5);
  bad[0].height = 100;
  bad[1].max_sequence_length = 1025;
  bad[2].true_cfg_scale = NAN;
  bad[3].num_inference_steps = 0;
  bad[4].image = at::zeros({16, 16, 3}, at::kByte);
  for (size_t i = 0; i < bad.size(); ++i) {
    const auto full = complete(bad[i]);
    ASSERT_FALSE(full) << i;
    EXPECT_EQ(full.error().code, ErrorCode::Usage) << i;
  }
  EXPECT_TRUE(complete(bad[0]).error().line().ends_with(" 96"));
}

TEST(QwenImageRequest, WithoutANegativePromptThePictureIsMadeWithoutGuidance) {
  pipeline::GenerateRequest alone = small_request();
  alone.negative_prompt.reset();
  pipeline::GenerateRequest unscaled = small_request();
  unscaled.true_cfg_scale = 1.0;
  const at::Tensor without = first_output(alone);
  EXPECT_TRUE(at::equal(without, first_output(unscaled)));
  EXPECT_FALSE(at::equal(without, first_output(small_request())));
}

TEST(QwenImageRequest, TextBehindTheLimitChangesNothing) {
  pipeline::GenerateRequest request = small_request();
  request.negative_prompt.reset();
  request.max_sequence_length = 4;
  request.prompt = "a quiet harbour at night with wooden boats";
  const at::Tensor cut = first_output(request);
  request.prompt += " and golden lanterns";
  EXPECT_TRUE(at::equal(first_output(request), cut));
}

TEST(QwenImageSites, AreKnownFromTheConfigsAlone) {
  const auto opened = unwrap(open_pipeline(model()));
  pipeline::GenerateRequest request = small_request();
  request.max_sequence_length = 64;
  const auto sites = opened->attention_sites(unwrap(opened->complete(request)));
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0].problem.seq_q, 34 + 64);
  EXPECT_TRUE(sites[0].problem.is_gqa());
  EXPECT_TRUE(sites[0].problem.is_causal());
  EXPECT_EQ(sites[1].problem.seq_kv, 64 + 2 * 3);
  EXPECT_EQ(sites[1].problem.head_dim, 24);
  EXPECT_EQ(sites[2].problem.seq_q, 4 * 6);
}

TEST(QwenImageConfig, SwitchesOfTheEditingModelsAreRefused) {
  for (const char* name : {"zero_cond_t", "use_additional_t_cond", "use_layer3d_rope", "guidance_embeds"}) {
    const auto config = parse_qwen_image_config(Json{{name, true}});
    ASSERT_FALSE(config) << name;
    EXPECT_EQ(config.error().code, ErrorCode::Unsupported);
  }
  EXPECT_FALSE(parse_qwen_image_config(Json{{"axes_dims_rope", {16, 56, 54}}}));
  EXPECT_TRUE(parse_qwen_image_config(Json::object()));
}

TEST(QwenImagePositions, HaveThePicturesMiddleAtZeroAndTheTextBehindItsBorder) {
  const at::Tensor image = centred_image_ids(5, 4);
  EXPECT_EQ(image[0][1].item<float>(), -3);
  EXPECT_EQ(image[19][1].item<float>(), 1);
  EXPECT_EQ(image[0][2].item<float>(), -2);
  EXPECT_EQ(image[19][2].item<float>(), 1);
  const at::Tensor text = diagonal_text_ids(5, 4, 3);
  EXPECT_EQ(text[0][0].item<float>(), 2);
  EXPECT_EQ(text[2][2].item<float>(), 4);
}

}  // namespace tessera::models
