// Ids of real vocabularies against the reference, for every prompt of tests/golden/tokenizers.
#include <map>

#include <gtest/gtest.h>

#include "base/json.h"
#include "text/tokenizer.h"

namespace tessera::text {
namespace {

using Ids = std::vector<int64_t>;

const std::filesystem::path kGolden = std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/golden/tokenizers";

class GoldenTokenizer : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    expected_ = json::read_file(kGolden / GetParam() / "expected.json").value();
    // A real vocabulary takes up to a second to load, so each is loaded once.
    static std::map<std::string, std::unique_ptr<Tokenizer>> loaded;
    auto& slot = loaded[GetParam()];
    if (!slot) {
      auto result = load_tokenizer(kGolden / GetParam());
      ASSERT_TRUE(result) << result.error().line();
      slot = std::move(*result);
    }
    tokenizer_ = slot.get();
  }
  Json expected_;
  const Tokenizer* tokenizer_ = nullptr;
};

TEST_P(GoldenTokenizer, GivesTheIdsOfTheReference) {
  ASSERT_EQ(expected_.at("cases").size(), 64u);
  for (const auto& c : expected_.at("cases")) {
    EXPECT_EQ(tokenizer_->encode(c.at("text").get<std::string>()).value(), c.at("ids").get<Ids>()) << c.at("text");
  }
}

TEST_P(GoldenTokenizer, CutsLongPromptsAsTheReference) {
  const int64_t max_length = expected_.at("max_length");
  for (const auto& c : expected_.at("cases")) {
    std::string cut;
    const auto got = tokenizer_->encode_truncated(c.at("text").get<std::string>(), max_length, &cut).value();
    EXPECT_EQ(got, c.value("ids_truncated", c.at("ids").get<Ids>())) << c.at("text");
    EXPECT_EQ(cut.empty(), !c.contains("ids_truncated")) << c.at("text");
  }
}

TEST_P(GoldenTokenizer, PadsAsTheReference) {
  const auto& example = expected_.at("padding_example");
  const auto padded =
      tokenizer_->encode_padded(example.at("text").get<std::string>(), example.at("max_length")).value();
  EXPECT_EQ(padded.ids, example.at("input_ids").get<Ids>());
  EXPECT_EQ(padded.attention_mask, example.at("attention_mask").get<Ids>());
  EXPECT_TRUE(padded.cut.empty());
}

TEST_P(GoldenTokenizer, RefusesTextThatIsNotUtf8) {
  const auto got = tokenizer_->encode("caf\xe9");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::Usage);
  EXPECT_NE(got.error().what.find("byte 3"), std::string::npos) << got.error().what;
}

INSTANTIATE_TEST_SUITE_P(Real, GoldenTokenizer, ::testing::Values("clip", "t5", "umt5", "qwen2"));

TEST(TruncatedPrompt, TellsTheWordsThatWereCut) {
  const auto clip = load_tokenizer(kGolden / "clip").value();
  EXPECT_EQ(clip->encode_padded("a red fox", 4).value().cut, "fox ");
  const auto qwen = load_tokenizer(kGolden / "qwen2").value();
  EXPECT_EQ(qwen->encode_padded("a red fox", 2).value().cut, " fox");
}

TEST(TruncatedPrompt, NeedsRoomForTheSpecialTokens) {
  const auto clip = load_tokenizer(kGolden / "clip").value();
  EXPECT_EQ(clip->encode_truncated("a", 1).error().code, ErrorCode::Usage);
  EXPECT_EQ(clip->encode_truncated("a", 2).value(), (Ids{49406, 49407}));
}

}  // namespace
}  // namespace tessera::text
