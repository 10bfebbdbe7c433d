#include "text/unicode.h"

#include <gtest/gtest.h>

#include "text/normalizer.h"

namespace tessera::text {

TEST(Utf8, NamesTheFirstMalformedByte) {
  EXPECT_FALSE(first_malformed_byte("a\xc3\xa9"));
  EXPECT_EQ(first_malformed_byte("a\xc3"), 1u);
  EXPECT_EQ(first_malformed_byte("ab\xed\xa0\x80"), 2u) << "a surrogate";
  EXPECT_EQ(first_malformed_byte("\xc0\x80"), 0u) << "an overlong form";
}

TEST(Utf8, RoundTripsThroughCodePoints) {
  const std::string text = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80";
  EXPECT_EQ(to_utf32(text).size(), 4u);
  EXPECT_EQ(to_utf8(to_utf32(text)), text);
}

TEST(LowerCase, KeepsTheDotOfTheTurkishCapitalI) {
  EXPECT_EQ(lower_case("\xc4\xb0"), "i\xcc\x87");
}

TEST(WhiteSpace, RunsBecomeOneSpace) {
  EXPECT_EQ(collapse_white_space("\t a\xe3\x80\x80\n b\xc2\xa0"), " a b ");
}

TEST(Graphemes, KeepCrLfAndCombiningMarksTogether) {
  EXPECT_EQ(grapheme_ends("a\xcc\x81\r\nb"), (std::vector<size_t>{3, 5, 6}));
}

}  // namespace tessera::text
