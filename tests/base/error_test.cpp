#include <gtest/gtest.h>

#include "base/dtype.h"
#include "base/json.h"
#include "base/result.h"

namespace tessera {

TEST(Error, IsOneLineWithItsHint) {
  const Error e{ErrorCode::BadFile, "shard a\nis cut", "fetch it again"};
  EXPECT_EQ(e.line(), "shard a is cut; fetch it again");
}

TEST(Error, WrongUsageExitsWithTwoAndCancelWith130) {
  EXPECT_EQ(exit_status(ErrorCode::Usage), 2);
  EXPECT_EQ(exit_status(ErrorCode::Cancelled), 130);
  EXPECT_EQ(exit_status(ErrorCode::OutOfMemory), 1);
}

Result<int> half(int x) {
  if (x % 2 != 0) return fail(ErrorCode::Misuse, "odd");
  return x / 2;
}

Result<int> quarter(int x) {
  TESSERA_TRY(const int h, half(x));
  return half(h);
}

TEST(Result, TryPassesTheErrorOn) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().what, "odd");
}

TEST(Json, AWrongTypeNamesTheField) {
  const auto parsed = json::parse(R"({"depth": "six"})", "config.json");
  ASSERT_TRUE(parsed);
  const auto depth = json::value_or<int>(*parsed, "depth", 1);
  ASSERT_FALSE(depth);
  EXPECT_NE(depth.error().what.find("depth"), std::string::npos);
}

TEST(Json, ABrokenTextNamesItsOrigin) {
  const auto parsed = json::parse("{", "model_index.json");
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().what.find("model_index.json"), std::string::npos);
}

TEST(DType, NamesAndAliasesParse) {
  EXPECT_EQ(parse_dtype("BF16"), DType::BF16);
  EXPECT_EQ(parse_dtype("float32"), DType::F32);
  EXPECT_EQ(parse_dtype("f16"), DType::F16);
  EXPECT_EQ(parse_dtype("int3"), std::nullopt);
}

}  // namespace tessera
