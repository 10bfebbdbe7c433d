// Our graph builder against the real cuDNN, for every named shape and described device; no GPU takes part.
#include "attention/cudnn/ask.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "attention/cudnn/devices.h"
#include "attention/cudnn/library.h"

namespace tessera::attention::cudnn {
namespace {

struct Shape {
  int64_t batch, seq_q, seq_kv, heads_q, heads_kv, head_dim;
};

AttentionProblem problem(const Shape& s, DType dtype) {
  AttentionProblem p;
  p.batch = s.batch, p.seq_q = s.seq_q, p.seq_kv = s.seq_kv, p.heads_q = s.heads_q, p.heads_kv = s.heads_kv;
  p.head_dim = p.value_dim = s.head_dim;
  p.dtype = dtype;
  return p;
}

Spec dense(const Shape& shape, DType dtype) {
  return spec_of(problem(shape, dtype));
}

struct NamedShape {
  const char* name;
  Shape shape;
  Causal causal = Causal::None;
  MaskKind mask = MaskKind::None;
};

// The shapes of `bench attention`, by name.
const NamedShape kShapes[] = {
    {"wan22_720p_self", {1, 75600, 75600, 40, 40, 128}},
    {"wan22_720p_cross", {1, 75600, 512, 40, 40, 128}},
    {"wan22_480p_self", {1, 32760, 32760, 40, 40, 128}},
    {"wan22_480p_cross", {1, 32760, 512, 40, 40, 128}},
    {"wan22_ti2v_self", {1, 27280, 27280, 24, 24, 128}},
    {"wan22_ti2v_cross", {1, 27280, 512, 24, 24, 128}},
    {"qwen_1024", {1, 4352, 4352, 24, 24, 128}, Causal::None, MaskKind::KeyLengths},
    {"flux_1024_self", {1, 4608, 4608, 24, 24, 128}},
    {"lingbot_506k", {1, 506000, 506000, 40, 40, 128}},
    {"lingbot_cross", {1, 506000, 512, 40, 40, 128}},
    {"minimax_h3", {1, 37700, 37700, 56, 56, 128}},
    {"sd_1024_64", {4, 1024, 1024, 16, 16, 64}},
    {"flux_512", {1, 1536, 1536, 24, 24, 128}},
    {"wan_cross_512", {1, 4096, 512, 12, 12, 128}},
    {"clip_77", {1, 77, 77, 12, 12, 64}, Causal::TopLeft},
    {"tiny_256", {1, 256, 256, 4, 4, 64}},
    {"krea_gqa", {1, 4352, 4352, 48, 12, 128}},
    {"vae_mid", {1, 4096, 4096, 1, 1, 512}},
};

Spec named(const NamedShape& shape, bool stats) {
  Spec spec = dense(shape.shape, DType::BF16);
  spec.causal = shape.causal;
  spec.mask = shape.mask;
  spec.stats = stats;
  return spec;
}

/// The newest kernel class that a device has.
int64_t own_class(const std::string& device) {
  if (device == "a100" || device == "l40s") return 8;
  if (device == "h200") return 9;
  return device == "rtx5090" ? 11 : 10;
}

class AskCudnn : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto answer = ask(dense({1, 512, 512, 8, 8, 128}, DType::BF16), "b200");
    if (!answer) GTEST_SKIP() << answer.error().line();
  }

  static Answer b200(int64_t seq_q, int64_t seq_kv) {
    return ask(dense({1, seq_q, seq_kv, 24, 24, 128}, DType::BF16), "b200").value();
  }
};

TEST_F(AskCudnn, AcceptsEveryNamedShapeOnEveryDeviceFromAmpereOn) {
  for (const std::string& device : described_devices()) {
    if (device == "t4") continue;
    for (const NamedShape& shape : kShapes) {
      for (const bool stats : {false, true}) {
        const auto answer = ask(named(shape, stats), device);
        ASSERT_TRUE(answer) << shape.name << " on " << device << ": " << answer.error().line();
        EXPECT_TRUE(answer->supported) << shape.name << ": " << answer->text;
        for (const int64_t engine : answer->engines) {
          EXPECT_TRUE(engine == 8 || engine == own_class(device)) << shape.name << ": " << answer->text;
        }
      }
    }
  }
}

TEST_F(AskCudnn, LongSelfAttentionGetsTheDevicesOwnKernelsFirst) {
  for (const std::string& device : described_devices()) {
    if (device == "t4") continue;
    for (const char* name : {"wan22_720p_self", "flux_1024_self", "minimax_h3"}) {
      const auto shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                      [&](const NamedShape& s) { return std::string(s.name) == name; });
      const auto answer = ask(named(*shape, false), device).value();
      EXPECT_EQ(answer.engines.at(0), own_class(device)) << answer.text;
    }
  }
}

TEST_F(AskCudnn, OnBlackwellASideOfAtMost128RowsGetsTheGenericKernelsFirst) {
  EXPECT_EQ(b200(4608, 128).engines.at(0), 8);
  EXPECT_EQ(b200(128, 4608).engines.at(0), 8);
  EXPECT_EQ(b200(128, 128).engines.at(0), 8);
  EXPECT_EQ(b200(126, 1536).engines.at(0), 8);
  EXPECT_EQ(b200(129, 4608).engines.at(0), 10);
  EXPECT_EQ(b200(4608, 129).engines.at(0), 10);
}

TEST_F(AskCudnn, RefusesTuring) {
  const auto answer = ask(dense({1, 512, 512, 8, 8, 128}, DType::F16), "t4").value();
  EXPECT_FALSE(answer.supported);
  EXPECT_TRUE(answer.engines.empty());
}

TEST_F(AskCudnn, AcceptsBothCausalAlignmentsKeyLengthsMasksAndGroupedHeads) {
  Spec spec = dense({2, 256, 512, 16, 4, 64}, DType::F16);
  spec.stats = true;
  for (const Causal causal : {Causal::TopLeft, Causal::BottomRight}) {
    spec.causal = causal;
    EXPECT_TRUE(ask(spec, "h200")->supported) << ask(spec, "h200")->text;
    EXPECT_TRUE(ask(spec, "b200")->supported) << ask(spec, "b200")->text;
  }
  spec.causal = Causal::None;
  spec.mask = MaskKind::Additive;
  spec.bias_dtype = DType::F16;
  spec.bias_shape = {2, 1};
  spec.bias = {256 * 512, 256 * 512, 512, 1};
  EXPECT_TRUE(ask(spec, "h200")->supported) << ask(spec, "h200")->text;
}

TEST_F(AskCudnn, AcceptsHeadMajorAndPackedLayoutsWithoutACopy) {
  Spec spec = dense({2, 512, 512, 8, 8, 64}, DType::BF16);
  const Strides packed{512 * 3 * 8 * 64, 64, 3 * 8 * 64, 1};
  spec.q = spec.k = spec.v = packed;
  EXPECT_TRUE(ask(spec, "h200")->supported) << ask(spec, "h200")->text;
  spec.q = spec.k = spec.v = {8 * 512 * 64, 512 * 64, 64, 1};
  EXPECT_TRUE(ask(spec, "b200")->supported) << ask(spec, "b200")->text;
}

TEST_F(AskCudnn, SaysWhichDeviceAnsweredForAnH100) {
  const auto answer = ask(dense({1, 4608, 4608, 24, 24, 128}, DType::BF16), "h100").value();
  EXPECT_EQ(answer.engines.at(0), 9);
  EXPECT_NE(answer.text.find("h100 (asked with the properties of h200)"), std::string::npos) << answer.text;
}

TEST_F(AskCudnn, AnswersInTheDocumentedJson) {
  const auto json = to_json(b200(4608, 4608));
  EXPECT_TRUE(json.at("supported").get<bool>());
  EXPECT_EQ(json.at("engines").at(0), 10);
  EXPECT_EQ(json.at("version"), version_text(load_library()->version));
}

TEST_F(AskCudnn, GuardsComeBeforeTheLibraryThatWouldCrash) {
  for (const auto& [q, kv] : {std::pair<int64_t, int64_t>{0, 512}, {512, 0}}) {
    const auto answer = ask(dense({1, q, kv, 8, 8, 128}, DType::BF16), "h200").value();
    EXPECT_FALSE(answer.supported);
    EXPECT_NE(answer.text.find("zero lengths"), std::string::npos) << answer.text;
  }
}

TEST(DeviceDescriptions, UnknownNamesAreRefusedWithTheListOfKnownOnes) {
  const auto answer = ask(dense({1, 8, 8, 1, 1, 8}, DType::BF16), "gtx1080");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::NotFound);
  EXPECT_NE(answer.error().line().find("b300"), std::string::npos) << answer.error().line();
}

TEST(DeviceDescriptions, CarryTheComputeCapability) {
  EXPECT_EQ(describe_device("b300")->sm, 103);
  EXPECT_EQ(describe_device("l40s")->sm, 89);
  EXPECT_EQ(describe_device("h100")->sm, 90);
}

}  // namespace
}  // namespace tessera::attention::cudnn
