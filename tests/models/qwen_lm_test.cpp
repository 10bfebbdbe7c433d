#include <gtest/gtest.h>

#include "models/text/chat_prompt.h"
#include "models/text/qwen_lm.h"
#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

std::filesystem::path qwen3() {
  return golden("pipelines/z-image") / "model";
}

QwenLm encoder() {
  const auto config = unwrap(parse_qwen_lm_config(unwrap(json::read_file(qwen3() / "text_encoder/config.json"))));
  const auto checkpoint = unwrap(weights::open_component(qwen3() / "text_encoder"));
  return QwenLm(unwrap(weights::to_weight_map(checkpoint, at::kFloat)), config);
}

at::Tensor some_ids(int64_t count) {
  return (at::arange(count, at::kLong) * 37 % 1000).unsqueeze(0);
}

}  // namespace

TEST(QwenLm, PaddingDoesNotReachTheRealTokens) {
  const QwenLm lm = encoder();
  const std::array<int64_t, 1> last = {-1};
  const at::Tensor ids = some_ids(12);
  const at::Tensor alone = lm.forward(ids.slice(1, 0, 7), std::nullopt, last, {}).front();
  const at::Tensor padded = lm.forward(ids, std::vector<int64_t>{7}, last, {}).front();
  EXPECT_LT(deviation(padded.slice(1, 0, 7), alone), 1e-5);
}

TEST(QwenLm, HandsOutTheWantedStatesInTheirOrder) {
  const QwenLm lm = encoder();
  const std::array<int64_t, 3> wanted = {-2, 0, 1};
  const auto states = lm.forward(some_ids(5), std::nullopt, wanted, {});
  MapTrace trace;
  nn::Scope scope;
  scope.trace = &trace;
  scope.path = "lm";
  lm.forward(some_ids(5), std::nullopt, wanted, scope);
  EXPECT_TRUE(at::equal(states[0], trace.kept.at("lm/layer/1")));
  EXPECT_TRUE(at::equal(states[1], trace.kept.at("lm/hidden_states/0")));
  EXPECT_TRUE(at::equal(states[2], trace.kept.at("lm/layer/0")));
}

TEST(QwenLmConfig, TakesBothSpellings) {
  const Json fields = {{"model_type", "qwen2_5_vl"},
                       {"hidden_size", 64},
                       {"num_attention_heads", 4},
                       {"rope_theta", 1000000.0},
                       {"num_key_value_heads", 2}};
  const auto top = unwrap(parse_qwen_lm_config(fields));
  const auto nested = unwrap(
      parse_qwen_lm_config(Json{{"model_type", "qwen2_5_vl"},
                                {"text_config",
                                 {{"model_type", "qwen2_5_vl_text"},
                                  {"hidden_size", 64},
                                  {"num_attention_heads", 4},
                                  {"num_key_value_heads", 2},
                                  {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1000000.0}}}}}}));
  for (const QwenLmConfig& c : {top, nested}) {
    EXPECT_EQ(c.head_dim, 16);
    EXPECT_EQ(c.num_key_value_heads, 2);
    EXPECT_EQ(c.rope_theta, 1000000.0);
    EXPECT_FALSE(c.qk_norm);
  }
}

TEST(QwenLmConfig, WhatWouldGiveOtherNumbersIsRefused) {
  EXPECT_FALSE(parse_qwen_lm_config(Json{{"model_type", "llama"}}));
  EXPECT_FALSE(parse_qwen_lm_config(Json{{"use_sliding_window", true}}));
  EXPECT_FALSE(parse_qwen_lm_config(Json{{"rope_scaling", {{"type", "yarn"}}}}));
  EXPECT_FALSE(parse_qwen_lm_config(Json{{"num_attention_heads", 5}, {"num_key_value_heads", 2}}));
}

TEST(ChatPrompt, OnlyTheUsersWordsCountAsCut) {
  EXPECT_EQ(users_words("boats<|im_end|>\n<|im_start|>assistant\n", kQwenChat), "boats");
  EXPECT_EQ(users_words("<|im_start|>assistant\n", kQwenChat), "");
  const auto tokenizer = unwrap(text::load_tokenizer(qwen3() / "tokenizer"));
  const PromptTokens cut = tokenize_chat(*tokenizer, kQwenChat, "a fox in the snow", 6, Padding::ToMaxLength);
  EXPECT_EQ(cut.length, 6);
  const PromptTokens padded = tokenize_chat(*tokenizer, kQwenChat, "a fox", 40, Padding::ToMaxLength);
  EXPECT_EQ(padded.ids.size(1), 40);
  EXPECT_LT(padded.length, 40);
  const PromptTokens plain = tokenize_chat(*tokenizer, kQwenChat, "a fox", 40, Padding::None);
  EXPECT_EQ(plain.ids.size(1), padded.length);
}

}  // namespace tessera::models
