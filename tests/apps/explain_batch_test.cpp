// `tessera explain --batch`: one decision for each JSON line, at the borders of every rule.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "tests/apps/run_program.h"

namespace tessera::cli {
namespace {

struct Row {
  const char* device;
  const char* problem;    ///< fields beside the documented defaults
  const char* selection;  ///< fields
  const char* backend;
};

// clang-format off
constexpr Row kRows[] = {
    // A side shorter than one 128-row tile, alone, sends 10.x to FlashAttention.
    {"b200", R"("seq_q": 127)", "", "torch_cudnn_sdpa"},
    {"b200", R"("seq_q": 127, "seq_kv": 4096)", "", "fa4"},
    {"b200", R"("seq_q": 128, "seq_kv": 4096)", "", "torch_cudnn_sdpa"},
    {"b200", R"("seq_q": 129, "seq_kv": 4096)", "", "torch_cudnn_sdpa"},
    {"b200", R"("seq_q": 4096, "seq_kv": 127)", "", "fa4"},
    {"b200", R"("seq_q": 4096, "seq_kv": 128)", "", "torch_cudnn_sdpa"},
    {"b200", R"("seq_q": 127, "seq_kv": 128)", "", "fa4"},
    {"b200", R"("seq_q": 127, "seq_kv": 64)", "", "torch_cudnn_sdpa"},
    {"b200", R"("seq_q": 1, "seq_kv": 4096)", "", "fa4"},
    {"b200", R"("seq_q": 4096, "seq_kv": 1)", "", "fa4"},
    // 10.3 alone, D = 128, self-attention, 16384 tokens.
    {"b300", R"("seq_q": 16383)", "", "torch_cudnn_sdpa"},
    {"b300", R"("seq_q": 16384)", "", "fa4"},
    {"b300", R"("seq_q": 16384, "seq_kv": 16385)", "", "torch_cudnn_sdpa"},
    {"b300", R"("seq_q": 16384, "head_dim": 64)", "", "torch_cudnn_sdpa"},
    {"b300", R"("seq_q": 16384, "head_dim": 120)", "", "torch_cudnn_sdpa"},
    {"b200", R"("seq_q": 16384)", "", "torch_cudnn_sdpa"},
    // Only dense, non-causal calls in half precision with equal heads were compared.
    {"b200", R"("causal": true)", "", "fa4"},
    {"b200", R"("causal": "bottom_right")", "", "fa4"},
    {"b200", R"("heads_q": 24, "heads_kv": 8)", "", "fa4"},
    {"b200", R"("needs_lse": true)", "", "fa4"},
    {"b200", R"("mask": "key_lengths")", "", "fa4"},
    {"b200", R"("key_lengths": [4000])", "", "fa4"},
    {"b200", R"("dtype": "fp16")", "", "torch_cudnn_sdpa"},
    {"b200", R"("dtype": "fp32")", "", "torch_sdpa"},
    // Dense masks never go to FlashAttention; cuDNN takes them as an additive bias.
    {"b200", R"("mask": "bool")", "", "torch_cudnn_sdpa"},
    {"b200", R"("mask": "additive", "head_dim": 64)", "", "torch_cudnn_sdpa"},
    {"rtx5090", R"("mask": "additive")", "", "torch_sdpa"},
    {"h100", R"("mask": "bool")", "", "torch_sdpa"},
    {"h100", R"("mask": "additive")", "", "torch_sdpa"},
    // Head sizes: multiples of 8 up to 128 on 10.x, the list elsewhere.
    {"b200", R"("head_dim": 72)", "", "torch_cudnn_sdpa"},
    {"b200", R"("head_dim": 8)", "", "torch_cudnn_sdpa"},
    {"b200", R"("head_dim": 76)", "", "torch_sdpa"},
    {"b200", R"("head_dim": 136)", "", "torch_sdpa"},
    {"b200", R"("head_dim": 256)", "", "fa4"},
    {"h100", R"("head_dim": 72)", "", "torch_sdpa"},
    {"h100", R"("head_dim": 96)", "", "fa3"},
    {"h100", R"("head_dim": 256)", "", "fa3"},
    {"h100", R"("head_dim": 512)", "", "torch_sdpa"},
    {"h100", R"("value_dim": 64)", "", "torch_sdpa"},
    // Compute capabilities.
    {"t4", "", "", "torch_sdpa"},
    {"a100", "", "", "fa3"},
    {"l40s", "", "", "fa3"},
    {"h200", R"("dtype": "fp32")", "", "torch_sdpa"},
    {"rtx5090", "", "", "torch_sdpa"},
    {"rtx5090", R"("causal": true)", "", "torch_sdpa"},
    // dynamic_cudnn_sdpa beside 10.x: D = 64, S = 1024, B >= 4.
    {"h100", R"("batch": 4, "seq_q": 1024, "head_dim": 64)", "", "fa3"},
    {"h100", R"("batch": 4, "seq_q": 1024, "head_dim": 64)", R"("server": "dynamic_cudnn_sdpa")", "torch_cudnn_sdpa"},
    {"h100", R"("batch": 3, "seq_q": 1024, "head_dim": 64)", R"("server": "dynamic_cudnn_sdpa")", "fa3"},
    {"h100", R"("batch": 4, "seq_q": 1025, "head_dim": 64)", R"("server": "dynamic_cudnn_sdpa")", "fa3"},
    {"h100", R"("batch": 4, "seq_q": 1024, "seq_kv": 1000, "head_dim": 64)", R"("server": "dynamic_cudnn_sdpa")", "fa3"},
    {"h100", R"("batch": 4, "seq_q": 1024, "head_dim": 128)", R"("server": "dynamic_cudnn_sdpa")", "fa3"},
    {"a100", R"("batch": 8, "seq_q": 1024, "head_dim": 64)", R"("server": "dynamic_cudnn_sdpa")", "torch_cudnn_sdpa"},
    // Which level wins.
    {"h100", "", R"("server": "fa", "component": "sdpa")", "torch_sdpa"},
    {"h100", "", R"("component": "sdpa", "component_role": "cudnn")", "torch_cudnn_sdpa"},
    {"h100", "", R"("component_role": "cudnn", "forced": "sdpa")", "torch_sdpa"},
    {"h100", "", R"("forced": "sdpa", "layer_pin": "fa3")", "fa3"},
    {"h100", "", R"("layer_default": "sdpa")", "torch_sdpa"},
    {"h100", "", R"("server": "fa", "layer_default": "sdpa")", "fa3"},
    {"h100", "", R"("server": "fa4", "layer_default": "sdpa")", "fa3"},
    {"h100", "", R"("server": "fa4", "may_fall_back": true)", "fa3"},
    {"h100", "", R"("server": "auto", "layer_default": "sdpa")", "torch_sdpa"},
    {"h100", "", R"("model_supports": ["sdpa"])", "torch_sdpa"},
    {"h100", "", R"("model_supports": ["sdpa"], "server": "fa")", "fa3"},
    {"b200", "", R"("model_supports": ["fa", "sdpa"])", "torch_cudnn_sdpa"},
    {"b200", "", R"("model_supports": ["fa"])", "fa4"},
    // The policy of a weight format, unless somebody chose.
    {"b200", "", R"("quant": "modelopt_fp4")", "fa4"},
    {"b300", "", R"("quant": "modelopt_fp4")", "fa4"},
    {"h100", "", R"("quant": "modelopt_fp4")", "fa3"},
    {"b200", "", R"("quant": "modelopt_fp8")", "torch_cudnn_sdpa"},
    {"b200", "", R"("quant": "modelopt_fp4", "server": "cudnn")", "torch_cudnn_sdpa"},
    {"b200", "", R"("quant": "modelopt_fp4", "component": "sdpa")", "torch_sdpa"},
    {"b200", "", R"("quant": "modelopt_fp4", "component_role": "sdpa")", "torch_sdpa"},
    {"b200", "", R"("quant": "modelopt_fp4", "layer_pin": "sdpa")", "torch_sdpa"},
    {"b200", "", R"("quant": "modelopt_fp4", "forced": "cudnn")", "torch_cudnn_sdpa"},
    {"b200", R"("head_dim": 76)", R"("quant": "modelopt_fp4")", "torch_sdpa"},
    // CPUs.
    {"cpu_avx2", R"("dtype": "fp32")", "", "cpu_flash"},
    {"cpu_avx2", R"("dtype": "fp32")", R"("quality": "fast")", "cpu_sage"},
    {"cpu_neon", R"("dtype": "fp32")", R"("quality": "fast")", "cpu_flash"},
    {"cpu_avx2", R"("dtype": "fp32", "head_dim": 1025)", "", "torch_sdpa"},
};
// clang-format on

std::string line_of(const Row& row) {
  return strings::join(R"({"device": ")", row.device, R"(", "problem": {)", row.problem, R"(}, "selection": {)",
                       row.selection, "}}");
}

TEST(ExplainBatch, DecidesAtTheBordersOfEveryRule) {
  std::vector<std::string> lines;
  for (const Row& row : kRows) lines.push_back(line_of(row));
  const Answers answers = explain_rows(lines);
  EXPECT_EQ(answers.status, 0);
  ASSERT_EQ(answers.rows.size(), std::size(kRows));
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    EXPECT_EQ(answers.rows[i].at("backend"), kRows[i].backend) << lines[i] << "\n" << answers.rows[i].dump(1);
    EXPECT_EQ(answers.rows[i].at("error"), Json());
  }
}

TEST(ExplainBatch, TheSelectionIsNamedAsItApplies) {
  const Answers answers = explain_rows({R"({"device": "b200"})", R"({"device": "h100"})",
                                        R"({"device": "h100", "selection": {"server": "FA"}})",
                                        R"({"device": "h100", "selection": {"server": "prefer:sage"}})",
                                        R"({"device": "b200", "libraries": ["cudnn"]})"});
  const char* wants[] = {"dynamic_cudnn_sdpa", "auto", "fa", "sage_attn", "auto"};
  for (std::size_t i = 0; i < std::size(wants); ++i) EXPECT_EQ(answers.rows.at(i).at("selected"), wants[i]) << i;
}

TEST(ExplainBatch, LibrariesReplaceThePresets) {
  const Answers answers = explain_rows(
      {R"({"device": "b200", "libraries": []})", R"({"device": "b200", "libraries": ["flash4"]})",
       R"({"device": "b200", "libraries": ["flash2"]})", R"({"device": "b200", "libraries": ["cudnn", "flash2"]})",
       R"({"device": "h100", "libraries": ["flash2"]})",
       R"({"device": "h100", "libraries": ["sage"], "selection": {"server": "prefer:sage"}})",
       R"({"device": "h100", "libraries": ["sage", "sage_sm90_fix"], "selection": {"server": "sage"}})"});
  const char* wants[] = {"torch_sdpa", "fa4", "fa2", "torch_cudnn_sdpa", "fa2", "torch_sdpa", "sage_attn"};
  for (std::size_t i = 0; i < std::size(wants); ++i) EXPECT_EQ(answers.rows.at(i).at("backend"), wants[i]) << i;
  EXPECT_EQ(answers.rows[5].at("refused").at(0).at("reason"), "BindingBroken");
  EXPECT_FALSE(answers.rows[5].at("warnings").empty()) << "a broken binding is worth a warning";
}

TEST(ExplainBatch, OnlyUnsupportedIsRememberedOfWhatHappenedBefore) {
  const auto row = [](const char* error) {
    return strings::join(R"({"device": "b200", "failed": [{"backend": "cudnn", "error": ")", error, R"("}]})");
  };
  const Answers answers =
      explain_rows({row("unsupported"), row("oom"), row("fault"), row("garbage"),
                    R"({"device": "h100", "failed": [{"backend": "fa", "error": "unsupported"}]})"});
  const char* wants[] = {"fa4", "torch_cudnn_sdpa", "torch_cudnn_sdpa", "fa4", "torch_sdpa"};
  for (std::size_t i = 0; i < std::size(wants); ++i) EXPECT_EQ(answers.rows.at(i).at("backend"), wants[i]) << i;
}

TEST(ExplainBatch, AStrictChoiceThatCannotBeObeyedIsAnErrorObject) {
  const Answers answers =
      explain_rows({R"({"device": "rtx5090", "selection": {"server": "fa"}})",
                    R"({"device": "h100", "libraries": ["cudnn"], "selection": {"component": "sage"}})",
                    R"({"device": "h100", "problem": {"mask": "bool"}, "selection": {"server": "strict:fa3"}})"});
  EXPECT_EQ(answers.status, 0) << "the question was answered";
  const char* reasons[] = {"CapabilityUnserved", "NotInstalled", "Mask"};
  const char* codes[] = {"unsupported", "unavailable", "unsupported"};
  for (std::size_t i = 0; i < std::size(reasons); ++i) {
    EXPECT_EQ(answers.rows.at(i).at("backend"), Json());
    EXPECT_EQ(answers.rows[i].at("error").at("reason"), reasons[i]);
    EXPECT_EQ(answers.rows[i].at("error").at("code"), codes[i]);
  }
}

TEST(ExplainBatch, PackedSegmentsAreAKindOfProblem) {
  const Answers answers = explain_rows(
      {R"({"device": "b200", "problem": {"seq_q": 100, "varlen_bounds": [0, 40, 100]}})",
       R"({"device": "b200", "problem": {"seq_q": 100, "varlen_bounds": [0, 40, 100]}, "selection": {"server": "sage3"}})",
       R"({"device": "cpu_avx2", "problem": {"seq_q": 100, "dtype": "fp32", "varlen_bounds": [0, 40, 100]}})",
       R"({"device": "cpu_avx2", "problem": {"seq_q": 100, "dtype": "fp32", "varlen_bounds": [0, 40, 100], "mask": "bool"}})",
       R"({"device": "h100", "problem": {"seq_q": 100, "seq_kv": 90, "causal": true, "varlen_bounds": [0, 40], "varlen_bounds_kv": [0, 90]}})",
       R"({"device": "h100", "problem": {"seq_q": 100, "varlen_bounds": [0, 101]}})"});
  EXPECT_EQ(answers.status, 2);
  const Json wants[] = {"fa4", Json(), "cpu_flash", "torch_sdpa", "torch_sdpa", Json()};
  for (std::size_t i = 0; i < std::size(wants); ++i) {
    EXPECT_EQ(answers.rows.at(i).at("backend"), wants[i]) << answers.rows[i].dump(1);
  }
}

TEST(ExplainBatch, ALineThatCannotBeReadIsAnsweredAndTheOthersToo) {
  const std::vector<std::string> bad = {"no json",
                                        "[]",
                                        R"({"device": "b999"})",
                                        R"({"device": 3})",
                                        R"({"device": "b200", "problem": {"seqq": 3}})",
                                        R"({"device": "b200", "problem": {"seq_q": "3"}})",
                                        R"({"device": "b200", "problem": {"seq_q": 0}})",
                                        R"({"device": "b200", "problem": {"dtype": "int4"}})",
                                        R"({"device": "b200", "selection": {"server": "flash"}})",
                                        R"({"device": "b200", "selection": {"servr": "fa"}})",
                                        R"({"device": "b200", "libraries": ["cudn"]})",
                                        R"({"device": "b200", "failed": [{"backend": "fa", "error": "bad luck"}]})"};
  for (const std::string& line : bad) {
    const Answers answers = explain_rows({line, R"({"device": "h100"})"});
    EXPECT_EQ(answers.status, 2) << line;
    ASSERT_EQ(answers.rows.size(), 2U) << line;
    EXPECT_FALSE(answers.rows[0].at("error").is_null()) << line;
    EXPECT_EQ(answers.rows[0].at("backend"), Json()) << line;
    EXPECT_EQ(answers.rows[1].at("backend"), "fa3") << line;
  }
}

TEST(ExplainBatch, AWholeProfileIsADeviceAndFlagsHoldForRowsWithoutOne) {
  const Answers answers = explain_rows(
      {R"({"device": {"kind": "cuda", "sm": "8.6", "libraries": ["flash2"]}})", "{}", R"({"device": "h100"})"},
      {"--device", "b200", "--simulate", "cudnn=9.10.0", "--json"});
  const char* wants[] = {"fa2", "fa4", "fa3"};
  for (std::size_t i = 0; i < std::size(wants); ++i) EXPECT_EQ(answers.rows.at(i).at("backend"), wants[i]) << i;
}

}  // namespace
}  // namespace tessera::cli
