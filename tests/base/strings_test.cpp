#include "base/strings.h"

#include <gtest/gtest.h>

namespace tessera::strings {

TEST(Strings, JoinWritesValuesInOrder) {
  EXPECT_EQ(join("a ", 3, ", b ", 2.5), "a 3, b 2.5");
}

TEST(Strings, SplitKeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_TRUE(split("", ',').empty());
  EXPECT_EQ(split("one", ','), (std::vector<std::string>{"one"}));
}

TEST(Strings, LowerTouchesOnlyAscii) {
  EXPECT_EQ(lower("FA3 Ä"), "fa3 Ä");
}

TEST(Strings, NumbersTakeTheirWidth) {
  EXPECT_EQ(fixed(2.0 / 3.0, 2), "0.67");
  EXPECT_EQ(zero_padded(7, 5), "00007");
}

TEST(Strings, TrimRemovesWhiteSpaceAtBothEnds) {
  EXPECT_EQ(trim(" \t x y \n"), "x y");
  EXPECT_EQ(trim("  "), "");
}

}  // namespace tessera::strings
