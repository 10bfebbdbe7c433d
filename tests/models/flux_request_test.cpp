#include <gtest/gtest.h>

#include <fstream>

#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;

/// A model folder of links to the golden one, to which a test adds or replaces files.
class FluxFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(TESSERA_BINARY_DIR) / "test_models" / info->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const auto& entry : fs::directory_iterator(flux_model())) {
      fs::create_symlink(entry.path(), folder_ / entry.path().filename());
    }
  }
  void write(const std::string& name, const std::string& content) {
    fs::remove(folder_ / name);
    std::ofstream(folder_ / name) << content;
  }
  fs::path folder_;
};

Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request) {
  return unwrap(open_pipeline(flux_model()))->complete(request);
}

}  // namespace

TEST(FluxRequest, AbsentFieldsTakeTheDefaultsOfDiffusers) {
  const auto full = complete({.prompt = "a fox"});
  ASSERT_TRUE(full);
  EXPECT_EQ(*full->height, 1024);
  EXPECT_EQ(*full->width, 1024);
  EXPECT_EQ(*full->num_inference_steps, 28);
  EXPECT_EQ(*full->guidance_scale, 3.5);
  EXPECT_EQ(*full->max_sequence_length, 512);
}

TEST(FluxRequest, ASizeThatDoesNotDivideIsRefusedWithTheNearestValidOne) {
  const struct {
    int64_t height;
    const char* nearest;
  } cases[] = {{100, " 96"}, {105, " 112"}, {0, " 16"}, {-5, " 16"}, {3, " 16"}};
  for (const auto& c : cases) {
    pipeline::GenerateRequest request;
    request.height = c.height;
    const auto full = complete(request);
    ASSERT_FALSE(full) << c.height;
    EXPECT_EQ(full.error().code, ErrorCode::Usage);
    EXPECT_TRUE(full.error().line().ends_with(c.nearest)) << full.error().line();
  }
}

TEST(FluxRequest, ImpossibleNumbersAreUsageErrors) {
  std::vector<pipeline::GenerateRequest> bad(5);
  bad[0].num_inference_steps = 0;
  bad[1].max_sequence_length = 513;
  bad[2].guidance_scale = NAN;
  bad[3].num_frames = 9;
  bad[4].image = at::zeros({16, 16, 3}, at::kByte);
  for (size_t i = 0; i < bad.size(); ++i) {
    const auto full = complete(bad[i]);
    ASSERT_FALSE(full) << i;
    EXPECT_EQ(full.error().code, ErrorCode::Usage) << i;
  }
}

TEST_F(FluxFolder, TesseraJsonGivesBetterDefaultsButARequestWins) {
  write("tessera.json", R"({"height": 128, "width": 128, "num_inference_steps": 8})");
  const auto model = unwrap(open_pipeline(folder_));
  pipeline::GenerateRequest request;
  request.width = 64;
  const auto full = model->complete(request);
  ASSERT_TRUE(full);
  EXPECT_EQ(*full->height, 128);
  EXPECT_EQ(*full->width, 64);
  EXPECT_EQ(*full->num_inference_steps, 8);
}

TEST_F(FluxFolder, AWrongFieldInTesseraJsonIsABadFile) {
  write("tessera.json", R"({"height": "tall"})");
  const auto full = unwrap(open_pipeline(folder_))->complete({});
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::BadFile);
  EXPECT_NE(full.error().what.find("tessera.json"), std::string::npos);
}

TEST_F(FluxFolder, AMissingComponentIsNamedWhenItsStageBegins) {
  fs::remove(folder_ / "vae");
  const auto model = open_pipeline(folder_);
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().line().find("vae"), std::string::npos) << model.error().line();
}

TEST(FluxSites, AreKnownFromTheConfigsAlone) {
  const auto model = unwrap(open_pipeline(flux_model()));
  pipeline::GenerateRequest request;
  request.height = 96;
  request.width = 64;
  request.max_sequence_length = 64;
  const auto sites = model->attention_sites(unwrap(model->complete(request)));
  ASSERT_EQ(sites.size(), 5u);
  EXPECT_EQ(sites[0].problem.seq_q, 77);
  EXPECT_TRUE(sites[0].problem.is_causal());
  EXPECT_EQ(sites[1].problem.mask, attention::MaskKind::Additive);
  EXPECT_EQ(sites[2].component, "transformer");
  EXPECT_EQ(sites[2].problem.seq_kv, 64 + 24);
  EXPECT_EQ(sites[2].problem.heads_q, 2);
  EXPECT_EQ(sites[2].problem.head_dim, 32);
  EXPECT_EQ(sites[2].count, 2);
  EXPECT_EQ(sites[4].problem.seq_q, 12 * 8);
  EXPECT_EQ(sites[4].stage, pipeline::SiteStage::Decode);
}

TEST(FluxRun, StopsBetweenStepsWhenCancelled) {
  std::atomic<bool> cancelled = false;
  struct StopAfterFirst final : pipeline::Progress {
    std::atomic<bool>* flag;
    int64_t steps = 0;
    void begin(std::string_view, int64_t) override {}
    void advance(std::string_view stage, int64_t) override {
      if (stage == "denoise") {
        ++steps;
        *flag = true;
      }
    }
  } progress;
  progress.flag = &cancelled;
  pipeline::Context context;
  context.progress = &progress;
  context.cancelled = &cancelled;
  pipeline::GenerateRequest request;
  request.height = request.width = 32;
  request.num_inference_steps = 5;
  request.max_sequence_length = 16;
  try {
    generate(flux_model(), request, context);
    FAIL() << "the run went on";
  } catch (const RuntimeFault& fault) {
    EXPECT_EQ(fault.error.code, ErrorCode::Cancelled);
  }
  EXPECT_EQ(progress.steps, 1);
}

TEST(FluxRun, APreviewOfTheLastStepIsThePicture) {
  struct KeepPreview final : pipeline::Progress {
    at::Tensor last;
    void begin(std::string_view, int64_t) override {}
    void advance(std::string_view, int64_t) override {}
    void after_step(int64_t, const std::function<at::Tensor()>& decode) override { last = decode(); }
  } progress;
  pipeline::Context context;
  context.progress = &progress;
  pipeline::GenerateRequest request;
  request.height = request.width = 32;
  request.num_inference_steps = 2;
  request.max_sequence_length = 16;
  const pipeline::Media media = generate(flux_model(), request, context);
  EXPECT_EQ(media.frames.sizes(), (std::vector<int64_t>{1, 32, 32, 3}));
  EXPECT_TRUE(at::equal(media.frames, progress.last));
}

}  // namespace tessera::models
