// Rows of `explain --batch`: reading, answering, refusing what cannot be read.
#include "attention/policy/decision_json.h"

#include <gtest/gtest.h>

#include "tests/policy/policy_cases.h"

namespace tessera::attention {
namespace {

Result<OrderedJson> answer(const std::string& text) {
  const auto row =
      batch_row_from_json(Json::parse(text), [](const std::string& name) { return platform::preset(name); });
  if (!row) return fail(row.error());
  return decision_to_json(resolve(row->problem, row->selection, row->device, row->past));
}

TEST(Batch, TheBoundaryRowsOfTheInterfaceDecideAsDocumented) {
  const std::string libraries = R"("libraries": ["cudnn", "flash3", "flash4", "sage", "sage_sm90_fix"])";
  const std::string flux = R"("problem": {"seq_q": 4608, "seq_kv": 4608, "heads_q": 24, "head_dim": 128})";
  const std::pair<std::string, const char*> cases[] = {
      {R"({"device": "b200", )" + libraries + ", " + flux + "}", "torch_cudnn_sdpa"},
      {R"({"device": "h100", )" + libraries + ", " + flux + "}", "fa3"},
      {R"({"device": "rtx5090", )" + libraries + ", " + flux + "}", "torch_sdpa"},
      {R"({"device": "b200", )" + libraries + R"(, "problem": {"dtype": "fp32"}})", "torch_sdpa"},
      {R"({"device": "b200", )" + libraries + R"(, "problem": {"causal": true}})", "fa4"},
      {R"({"device": "b200", )" + libraries + R"(, "problem": {"aligned": false}})", "torch_sdpa"},
      {R"({"device": "b200", )" + libraries + R"(, "selection": {"quant": "modelopt_fp4"}})", "fa4"},
      {R"({"device": "b200", )" + libraries +
           R"(, "failed": [{"backend": "torch_cudnn_sdpa", "error": "unsupported"}]})",
       "fa4"},
      {R"({"device": "b200", )" + libraries + R"(, "failed": [{"backend": "torch_cudnn_sdpa", "error": "oom"}]})",
       "torch_cudnn_sdpa"},
      {R"({"device": {"kind": "cuda", "sm": "10.3"}, "problem": {"seq_q": 16384}})", "fa4"},
  };
  for (const auto& [text, want] : cases) {
    const auto got = answer(text);
    ASSERT_TRUE(got) << text << ": " << got.error().line();
    EXPECT_EQ(got->at("backend"), want) << text;
    EXPECT_TRUE(got->at("error").is_null()) << text;
  }
}

TEST(Batch, AChoiceThatCannotBeObeyedIsAnErrorObject) {
  const auto got = answer(R"({"device": "b200", "selection": {"server": "fa3"}})");
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->at("backend").is_null());
  EXPECT_EQ(got->at("selected"), "fa3");
  EXPECT_EQ(got->at("error").at("reason"), "CapabilityUnserved");
  const auto preferred = answer(R"({"device": "b200", "selection": {"server": "fa3", "may_fall_back": true}})");
  EXPECT_EQ(preferred->at("backend"), "fa4");
}

TEST(Batch, WhatCannotBeReadNamesItsField) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"device": "b2000"})", "b2000"},
      {R"({"device": 3})", "device"},
      {R"({"device": "b200", "libraries": ["cudnnn"]})", "cudnnn"},
      {R"({"device": "b200", "problem": {"seqq": 3}})", "seqq"},
      {R"({"device": "b200", "problem": {"seq_q": 1.5}})", "seq_q"},
      {R"({"device": "b200", "problem": {"seq_q": -1}})", "seq_q"},
      {R"({"device": "b200", "problem": {"mask": "dense"}})", "mask"},
      {R"({"device": "b200", "problem": {"dtype": "int3"}})", "dtype"},
      {R"({"device": "b200", "selection": {"server": "flash"}})", "flash"},
      {R"({"device": "b200", "selection": {"may_fall_back": "yes"}})", "may_fall_back"},
      {R"({"device": "b200", "failed": [{"backend": "fa", "error": "sad"}]})", "sad"},
      {"[]", "object"},
  };
  for (const auto& [text, field] : cases) {
    const auto got = answer(text);
    ASSERT_FALSE(got) << text;
    EXPECT_NE(got.error().line().find(field), std::string::npos) << text << ": " << got.error().line();
  }
}

TEST(Batch, ProblemsSurviveTheRoundTrip) {
  AttentionProblem p = dense(77, 512);
  p.causal = Causal::BottomRight;
  p.mask = MaskKind::KeyLengths;
  p.key_lengths = {12};
  p.scale = 0.25;
  p.needs_lse = true;
  p.role = Role::Cross;
  EXPECT_EQ(problem_from_json(Json::parse(problem_to_json(p).dump())).value(), p);
}

}  // namespace
}  // namespace tessera::attention
