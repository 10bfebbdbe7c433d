#include "runtime/generator.h"

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

const std::string kModel = TESSERA_SOURCE_DIR "/tests/golden/pipelines/flux1-schnell/model";

pipeline::GenerateRequest small_request() {
  pipeline::GenerateRequest request;
  request.prompt = "a red bicycle";
  request.height = 64;
  request.width = 64;
  request.num_inference_steps = 2;
  request.max_sequence_length = 32;
  request.seed = 3;
  return request;
}

Result<Generated> run(const RuntimeOptions& options, const RunHooks& hooks = {}) {
  TESSERA_TRY(Generator generator, Generator::open(options));
  TESSERA_TRY(const auto request, generator.complete(small_request()));
  return generator.run(request, hooks);
}

}  // namespace

TEST(Generator, SameSeedGivesTheSamePicture) {
  const auto a = run({.model = kModel});
  const auto b = run({.model = kModel});
  ASSERT_TRUE(a) << a.error().line();
  EXPECT_TRUE(at::equal(a->media.frames, b->media.frames));
  EXPECT_EQ(a->timings.denoise.size(), 2u);
}

TEST(Generator, AStrictBackendThatCannotServeIsRefusedBeforeLoading) {
  const auto made = run({.model = kModel, .attention_backend = "fa3"});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().what.find("fa3"), std::string::npos) << made.error().line();
}

TEST(Generator, APreferredBackendThatCannotServeFallsBackAndSaysSo) {
  auto generator = Generator::open({.model = kModel, .attention_backend = "prefer:fa3"});
  ASSERT_TRUE(generator);
  const auto request = generator->complete(small_request());
  ASSERT_TRUE(generator->run(*request, {}));
  const std::string report = generator->attention_report().dump();
  EXPECT_NE(report.find("\"requested\":\"fa3\""), std::string::npos) << report;
}

TEST(Generator, AnOverrideThatControlsNoLayerIsWrongUsage) {
  const auto made = run({.model = kModel, .component_attention_backends = "transformer.cross=torch_sdpa"});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::Usage);
  EXPECT_NE(made.error().hint.find("transformer.self"), std::string::npos) << made.error().line();
}

TEST(Generator, CancelStopsBetweenStepsWithItsOwnCode) {
  const std::atomic<bool> cancelled{true};
  const auto made = run({.model = kModel}, {.cancelled = &cancelled});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::Cancelled);
}

TEST(Generator, BackendsOfOneTierGiveTheSamePictureUpToRounding) {
  const auto ours = run({.model = kModel, .attention_backend = "cpu_flash"});
  const auto theirs = run({.model = kModel, .attention_backend = "torch_sdpa"});
  ASSERT_TRUE(ours && theirs);
  const auto difference = (ours->media.frames.to(at::kFloat) - theirs->media.frames.to(at::kFloat)).abs();
  EXPECT_LE(difference.max().item<float>(), 1);
}

}  // namespace tessera::runtime
