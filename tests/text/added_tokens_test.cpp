#include "text/added_tokens.h"

#include <gtest/gtest.h>

#include "text/unicode.h"

namespace tessera::text {
namespace {

AddedToken token(std::string content, int64_t id) {
  AddedToken t;
  t.content = std::move(content);
  t.id = id;
  return t;
}

// "text|[id]|text" of the sections, after lower-casing what is not a token.
std::string split(const std::vector<AddedToken>& tokens, const std::string& text) {
  const auto lower = [](std::string s) { return lower_case(s); };
  std::string out;
  for (const auto& section : AddedTokens(tokens, lower).split(text, lower)) {
    if (!out.empty()) out += "|";
    out += section.token ? "[" + std::to_string(*section.token) + "]" : section.text;
  }
  return out;
}

}  // namespace

TEST(AddedTokens, TheLongestOfThoseThatBeginFirstWins) {
  EXPECT_EQ(split({token("<a", 1), token("<a>", 2)}, "X<a>Y<a"), "x|[2]|y|[1]");
}

TEST(AddedTokens, NormalizedOnesAreFoundInNormalizedText) {
  AddedToken t = token("<END>", 7);
  EXPECT_EQ(split({t}, "a<end>b"), "a<end>b");
  t.normalized = true;
  EXPECT_EQ(split({t}, "a<End>b"), "a|[7]|b");
}

TEST(AddedTokens, StripTakesTheWhiteSpaceAlong) {
  AddedToken t = token("<m>", 3);
  t.lstrip = t.rstrip = true;
  EXPECT_EQ(split({t}, "a  <m> \n<m> b"), "a|[3]|[3]|b");
}

TEST(AddedTokens, SingleWordsAreNotFoundInsideWords) {
  AddedToken t = token("cat", 5);
  t.single_word = true;
  EXPECT_EQ(split({t}, "cat concat cat."), "[5]| concat |[5]|.");
}

}  // namespace tessera::text
