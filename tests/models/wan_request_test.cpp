#include <gtest/gtest.h>

#include <fstream>

#include "base/json.h"

#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;

fs::path wan_model(const std::string& which) {
  return golden("pipelines/wan2.2-" + which + "-small") / "model";
}

Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request, const std::string& which) {
  return unwrap(open_pipeline(wan_model(which)))->complete(request);
}

pipeline::GenerateRequest small_request() {
  pipeline::GenerateRequest request{.prompt = "a fox", .height = 32, .width = 32, .num_frames = 9};
  request.num_inference_steps = 2;
  request.max_sequence_length = 16;
  return request;
}

at::Tensor grey_image(int64_t height, int64_t width) {
  return at::full({height, width, 3}, 128, at::TensorOptions().dtype(at::kByte));
}

/// What a run made, and what it wrote to the error output.
struct Made {
  at::Tensor frames;
  std::string said;
};

Made run(const pipeline::GenerateRequest& request) {
  pipeline::Context context;
  ::testing::internal::CaptureStderr();
  const at::Tensor frames = generate(wan_model("ti2v-i2v"), request, context).frames;
  return {frames, ::testing::internal::GetCapturedStderr()};
}

}  // namespace

TEST(WanRequest, AbsentFieldsTakeTheDefaultsOfDiffusers) {
  const auto full = complete({.prompt = "a fox"}, "ti2v-i2v");
  ASSERT_TRUE(full);
  EXPECT_EQ(*full->height, 480);
  EXPECT_EQ(*full->width, 832);
  EXPECT_EQ(*full->num_frames, 81);
  EXPECT_EQ(*full->num_inference_steps, 50);
  EXPECT_EQ(*full->guidance_scale, 5.0);
  EXPECT_EQ(*full->max_sequence_length, 512);
  EXPECT_EQ(*full->fps, 16);
  EXPECT_EQ(*full->negative_prompt, "");
}

TEST(WanRequest, FramesThatAreNotFourKPlusOneAreRefusedWithTheNearestValidNumber) {
  const struct {
    int64_t frames;
    const char* nearest;
  } cases[] = {{80, " 81"}, {82, " 81"}, {12, " 13"}, {2, " 1"}, {0, " 1"}, {-7, " 1"}};
  for (const auto& c : cases) {
    pipeline::GenerateRequest request;
    request.num_frames = c.frames;
    const auto full = complete(request, "ti2v-i2v");
    ASSERT_FALSE(full) << c.frames;
    EXPECT_EQ(full.error().code, ErrorCode::Usage);
    EXPECT_TRUE(full.error().line().ends_with(c.nearest)) << full.error().line();
  }
}

TEST(WanRequest, SizesThatDoNotDivideAreRefusedWithTheNearestValidOne) {
  const struct {
    int64_t height;
    int64_t width;
    const char* nearest;
  } cases[] = {{480, 100, " 96"}, {480, 120, " 128"}, {40, 832, " 32"}, {7, 832, " 32"}};  // 16 pixels, patches of 2
  for (const auto& c : cases) {
    const auto full = complete({.prompt = "a fox", .height = c.height, .width = c.width}, "ti2v-i2v");
    ASSERT_FALSE(full) << c.height << " x " << c.width;
    EXPECT_EQ(full.error().code, ErrorCode::Usage);
    EXPECT_TRUE(full.error().line().ends_with(c.nearest)) << full.error().line();
  }
}

TEST(WanRequest, ImpossibleNumbersAreUsageErrors) {
  std::vector<pipeline::GenerateRequest> bad(6);
  bad[0].height = 48;  // latents of 16 pixels in patches of 2
  bad[1].width = 100;
  bad[2].fps = 0;
  bad[3].num_inference_steps = 0;
  bad[4].guidance_scale_2 = 3;  // one transformer only
  bad[5].num_frames = 4 * 1024 + 1;
  for (size_t i = 0; i < bad.size(); ++i) {
    const auto full = complete(bad[i], "ti2v-i2v");
    ASSERT_FALSE(full) << i;
    EXPECT_EQ(full.error().code, ErrorCode::Usage) << i;
  }
}

TEST(WanRequest, ImageToVideoWithoutAnImageIsAUsageErrorBeforeAnythingIsLoaded) {
  pipeline::Context context;
  try {
    generate(wan_model("ti2v-i2v"), small_request(), context);
    FAIL() << "it ran";
  } catch (const RuntimeFault& fault) {
    EXPECT_EQ(fault.error.code, ErrorCode::Usage);
    EXPECT_EQ(context.timings.load, 0);
  }
}

/// The small image-to-video model with other entries in its index.
fs::path model_with(const std::string& name, const Json& entries) {
  const fs::path folder = fs::path(TESSERA_BINARY_DIR) / "test_models" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& entry : fs::directory_iterator(wan_model("ti2v-i2v"))) {
    fs::create_symlink(entry.path(), folder / entry.path().filename());
  }
  Json index = unwrap(json::read_file(folder / "model_index.json"));
  index.update(entries);
  fs::remove(folder / "model_index.json");
  std::ofstream(folder / "model_index.json") << index.dump();
  return folder;
}

TEST(WanRequest, ABoundaryWithoutASecondTransformerIsABadFile) {
  const auto model = open_pipeline(model_with("one_expert", {{"boundary_ratio", 0.875}}));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::BadFile);
  EXPECT_NE(model.error().line().find("transformer_2"), std::string::npos);
}

TEST(WanRequest, AnExpertWhoseFolderIsMissingIsOneClearError) {
  const auto model = open_pipeline(model_with(
      "missing_expert", {{"boundary_ratio", 0.875}, {"transformer_2", Json{"diffusers", "WanTransformer3DModel"}}}));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::NotFound);
  EXPECT_NE(model.error().line().find("transformer_2"), std::string::npos) << model.error().line();
}

TEST(WanSites, AreKnownFromTheConfigsAlone) {
  const auto model = unwrap(open_pipeline(wan_model("ti2v-i2v")));
  const auto sites = model->attention_sites(unwrap(model->complete(small_request())));
  ASSERT_EQ(sites.size(), 4u);
  EXPECT_EQ(sites[1].problem.seq_q, 3);  // 3 latent frames of one patch
  EXPECT_EQ(sites[2].problem.seq_kv, 16);
  EXPECT_EQ(sites[2].problem.role, attention::Role::Cross);
  EXPECT_EQ(sites[3].count, 3);
}

TEST(WanRun, DecodingCountsFramesAndAPreviewIsOnePicture) {
  struct Watch final : pipeline::Progress {
    std::vector<int64_t> decoded;
    int64_t total = 0;
    at::Tensor preview;
    void begin(std::string_view stage, int64_t n) override {
      if (stage == "decode") total = n;
    }
    void advance(std::string_view stage, int64_t done) override {
      if (stage == "decode") decoded.push_back(done);
    }
    void after_step(int64_t, const std::function<at::Tensor()>& decode) override { preview = decode(); }
  } progress;
  pipeline::Context context;
  context.progress = &progress;
  pipeline::GenerateRequest request = small_request();
  request.image = grey_image(32, 32);
  const pipeline::Media media = generate(wan_model("ti2v-i2v"), request, context);
  EXPECT_EQ(media.frames.sizes(), (std::vector<int64_t>{9, 32, 32, 3}));
  EXPECT_EQ(media.fps, 16);
  EXPECT_EQ(progress.total, 9);
  EXPECT_EQ(progress.decoded, (std::vector<int64_t>{1, 5, 9, 9}));
  EXPECT_EQ(progress.preview.sizes(), (std::vector<int64_t>{1, 32, 32, 3}));
}

TEST(WanRun, AnImageOfAnotherSizeIsFitted) {
  pipeline::GenerateRequest request = small_request();
  request.image = grey_image(50, 20);
  const at::Tensor stretched = run(request).frames;
  request.image = grey_image(32, 32);
  EXPECT_TRUE(at::equal(stretched, run(request).frames));
}

TEST(WanRun, OnlyAnImageOfOtherProportionsIsWarnedOf) {
  const struct {
    int64_t height;
    int64_t width;
    bool warned;
  } cases[] = {{32, 32, false}, {64, 64, false}, {101, 100, false}, {102, 100, true}, {100, 102, true}, {20, 50, true}};
  for (const auto& c : cases) {
    pipeline::GenerateRequest request = small_request();
    request.image = grey_image(c.height, c.width);
    const std::string said = run(request).said;
    EXPECT_EQ(said.find("stretched") != std::string::npos, c.warned) << c.height << " x " << c.width << ": " << said;
  }
}

TEST(WanRun, AMissingNegativePromptIsAnEmptyOne) {
  pipeline::GenerateRequest request = small_request();
  request.image = grey_image(32, 32);
  const at::Tensor absent = run(request).frames;
  request.negative_prompt = "";
  EXPECT_TRUE(at::equal(absent, run(request).frames));
  request.negative_prompt = "dark, noisy photo";
  EXPECT_FALSE(at::equal(absent, run(request).frames)) << "the negative prompt has no effect";
}

TEST(WanRun, ATextOverTheLimitIsCutWithAWarningThatNamesTheRest) {
  pipeline::GenerateRequest request = small_request();
  request.image = grey_image(32, 32);
  request.prompt = "a robot beside a bottle and a car on the coast road while waves move and the camera follows slowly";
  const Made cut = run(request);
  EXPECT_NE(cut.said.find("longer than the 16 tokens"), std::string::npos) << cut.said;
  EXPECT_NE(cut.said.find("slowly\""), std::string::npos) << cut.said;
  request.prompt += " through the red wind";
  EXPECT_TRUE(at::equal(cut.frames, run(request).frames)) << "what was cut counts";
}

}  // namespace tessera::models
