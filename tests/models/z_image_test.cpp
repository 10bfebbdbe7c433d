#include <gtest/gtest.h>

#include "apps/golden_check/pipelines.h"
#include "models/z_image/config.h"
#include "models/z_image/guidance.h"
#include "models/z_image/sequence.h"
#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

std::filesystem::path model() {
  return golden("pipelines/z-image") / "model";
}

Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request) {
  return unwrap(open_pipeline(model()))->complete(request);
}

pipeline::GenerateRequest small_request() {
  pipeline::GenerateRequest request;
  request.prompt = "a fox";
  request.height = 32;
  request.width = 48;
  request.num_inference_steps = 2;
  request.max_sequence_length = 40;
  return request;
}

at::Tensor image_of(const pipeline::GenerateRequest& request) {
  pipeline::Context context;
  return generate(model(), request, context).frames;
}

}  // namespace

// The case is a smaller relative of the published one, made by the same script: weights in bfloat16, without encoder,
// two refiner layers, normalised and truncated guidance.
TEST(ZImageGolden, EveryTensorOfTheGoldenCaseAgrees) {
  const golden::GoldenReport report = golden::check_pipeline(golden("pipelines/z-image"));
  EXPECT_GE(report.checked, 50);
  for (const auto& failure : report.failed) {
    ADD_FAILURE() << failure.name << ": got " << failure.got << ", want " << failure.want;
  }
}

TEST(ZImageGolden, ATraceChangesNoPixel) {
  MapTrace trace;
  pipeline::Context traced;
  traced.trace = &trace;
  EXPECT_TRUE(at::equal(generate(model(), small_request(), traced).frames, image_of(small_request())));
}

TEST(ZImageRequest, AbsentFieldsTakeTheDefaultsOfDiffusers) {
  const auto full = complete({.prompt = "a fox"});
  ASSERT_TRUE(full);
  EXPECT_EQ(*full->height, 1024);
  EXPECT_EQ(*full->num_inference_steps, 50);
  EXPECT_EQ(*full->guidance_scale, 5.0);
  EXPECT_FALSE(*full->cfg_normalization);
  EXPECT_EQ(*full->cfg_truncation, 1.0);
  EXPECT_EQ(*full->max_sequence_length, 512);
}

TEST(ZImageRequest, ImpossibleRequestsAreUsageErrorsWithTheNearestSize) {
  std::vector<pipeline::GenerateRequest> bad(5);
  bad[0].width = 100;
  bad[1].height = 16 * 600;  // the rotary table has 512 rows
  bad[2].guidance_scale = INFINITY;
  bad[3].num_frames = 5;
  bad[4].max_sequence_length = 0;
  for (size_t i = 0; i < bad.size(); ++i) {
    const auto full = complete(bad[i]);
    ASSERT_FALSE(full) << i;
    EXPECT_EQ(full.error().code, ErrorCode::Usage) << i;
  }
  EXPECT_TRUE(complete(bad[0]).error().line().ends_with(" 96"));
}

TEST(ZImageRequest, AMissingNegativePromptIsAnEmptyOne) {
  pipeline::GenerateRequest empty = small_request();
  empty.negative_prompt = "";
  EXPECT_TRUE(at::equal(image_of(small_request()), image_of(empty)));
  pipeline::GenerateRequest other = small_request();
  other.negative_prompt = "a red lighthouse";
  EXPECT_FALSE(at::equal(image_of(small_request()), image_of(other)));
}

TEST(ZImageRequest, GuidanceZeroLeavesTheNegativePromptAlone) {
  pipeline::GenerateRequest plain = small_request();
  plain.guidance_scale = 0.0;
  pipeline::GenerateRequest other = plain;
  other.negative_prompt = "a red lighthouse";
  EXPECT_TRUE(at::equal(image_of(plain), image_of(other)));
}

TEST(ZImageGuidance, EndsBehindTheTruncation) {
  pipeline::GenerateRequest request;
  request.guidance_scale = 3.0;
  request.cfg_truncation = 0.5;
  EXPECT_EQ(z_image_guidance_scale(request, 0.5), 3.0);
  EXPECT_EQ(z_image_guidance_scale(request, 0.6), 0.0);
  request.cfg_truncation = 2.0;
  EXPECT_EQ(z_image_guidance_scale(request, 3.0), 3.0);
}

TEST(ZImageGuidance, NormalisedIsNeverLongerThanTheConditionalPrediction) {
  const at::Tensor cond = at::ones({2, 2});
  const at::Tensor longer = z_image_guidance(cond, -cond, 3.0, true);
  EXPECT_NEAR(longer.norm().item<double>(), 2.0, 1e-6);
  EXPECT_NEAR(z_image_guidance(cond, -cond, 3.0, false).norm().item<double>(), 14.0, 1e-5);
  const at::Tensor shorter = z_image_guidance(cond, cond * 1.1, 3.0, true);
  EXPECT_NEAR(shorter.norm().item<double>(), 2 * 0.7, 1e-5);
}

TEST(ZImageSequence, PatchesComeBackUnchanged) {
  const at::Tensor latents = at::arange(3 * 4 * 6, at::kFloat).view({3, 1, 4, 6});
  const at::Tensor tokens = z_image_pad(z_image_patches(latents));
  EXPECT_EQ(tokens.sizes(), (std::vector<int64_t>{32, 12}));
  EXPECT_EQ(tokens[0][1].item<float>(), 24);  // channels last within a patch
  EXPECT_TRUE(at::equal(z_image_unpatch(tokens, 4, 6), latents));
}

TEST(ZImageSequence, RowsOfDifferentLengthsGetKeyLengths) {
  const auto rotation = [](int64_t n) { return at::ones({n, 2}, at::kComplexFloat); };
  const ZImageSequence even = z_image_sequence({{at::ones({3, 4}), at::ones({3, 4})}, {rotation(3), rotation(3)}});
  EXPECT_FALSE(even.key_lengths);
  const ZImageSequence uneven = z_image_sequence({{at::ones({3, 4}), at::ones({2, 4})}, {rotation(5), rotation(2)}});
  ASSERT_TRUE(uneven.key_lengths);
  EXPECT_EQ(*uneven.key_lengths, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(uneven.tokens[1][2].abs().sum().item<float>(), 0);
  EXPECT_EQ(uneven.rotary.rotation.size(1), 3);
}

TEST(ZImageSites, CountThePaddingAndBothRowsOfTheBatch) {
  const auto opened = unwrap(open_pipeline(model()));
  const auto sites = opened->attention_sites(unwrap(opened->complete(small_request())));
  ASSERT_EQ(sites.size(), 5u);
  EXPECT_EQ(sites[1].site, "noise_refiner");
  EXPECT_EQ(sites[1].problem.seq_q, 32);
  EXPECT_EQ(sites[3].problem.seq_q, 32 + 64);
  EXPECT_EQ(sites[3].problem.batch, 2);
  EXPECT_EQ(sites[4].component, "vae");
}

TEST(ZImageConfig, PatchesOtherThanTwoByTwoAreRefused) {
  EXPECT_TRUE(parse_z_image_config(Json::object()));
  EXPECT_FALSE(parse_z_image_config(Json{{"all_patch_size", {4}}}));
  EXPECT_FALSE(parse_z_image_config(Json{{"axes_dims", {32, 48, 50}}}));
}

}  // namespace tessera::models
