#include "text/words.h"

#include <gtest/gtest.h>

#include "text/pattern.h"
#include "text/pre_tokenizer.h"

namespace tessera::text {

using Words = std::vector<std::string_view>;

TEST(QwenWords, SplitLikeTheExpressionOfTheReference) {
  const char* texts[] = {"",
                         "it's WE'LL 'S 'x ''s",
                         "a  b   c",
                         " lead",
                         "trail  ",
                         "a \n\n b\r\n c",
                         "12345",
                         "x1y22",
                         "!? \n ok",
                         "hi!\n\nthere",
                         "\t\ttabs",
                         "\xe3\x80\x80wide",
                         "a\xc2\xa0"
                         "b",
                         "don\xc2\xb4t",
                         "'\xc5\xbf"};
  const auto expression = Pattern::compile(std::string(kQwenExpression)).value();
  for (const std::string_view text : texts) {
    Words want;
    for (const auto& [begin, end] : expression.find_all(text)) want.push_back(text.substr(begin, end - begin));
    EXPECT_EQ(qwen_words(text), want) << "'" << text << "'";
  }
}

TEST(ClipWords, TakeContractionsAndSingleDigitsApart) {
  EXPECT_EQ(clip_words("it's 42%!"), (Words{"it", "'s", "4", "2", "%!"}));
  EXPECT_EQ(clip_words("  "), Words{});
  EXPECT_EQ(clip_words("<|endoftext|>!"), (Words{"<|", "endoftext", "|>", "!"}));
}

TEST(Metaspace, PutsAMarkBeforeEachWordOnce) {
  const std::string mark = "\xe2\x96\x81";
  EXPECT_EQ(pre_tokenize("a b", {Metaspace{}}, true), (std::vector<std::string>{mark + "a", mark + "b"}));
  EXPECT_EQ(pre_tokenize(mark + "a", {Metaspace{}}, true), (std::vector<std::string>{mark + "a"}));
}

TEST(ByteCharacters, RoundTrip) {
  std::string all;
  std::string mapped;
  for (int b = 0; b < 256; ++b) {
    all += static_cast<char>(b);
    mapped += byte_character(static_cast<unsigned char>(b));
  }
  EXPECT_EQ(bytes_of_characters(mapped), all);
}

TEST(Pattern, AnExpressionThatIsNotOneIsABadFile) {
  EXPECT_EQ(Pattern::compile("(").error().code, ErrorCode::BadFile);
}

}  // namespace tessera::text
