#include "apps/cli/bench_settings.h"

#include <gtest/gtest.h>

namespace tessera::cli {
namespace {

TEST(BenchSettings, WhatIsNamedDiffersAndTheRestStays) {
  runtime::RuntimeOptions first;
  first.model = "demo";
  first.dtype = "fp32";
  const auto second = lay_over("quality=fast, attention-backend=sdpa", first);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->quality, "fast");
  EXPECT_EQ(second->attention_backend, "sdpa");
  EXPECT_EQ(second->model, "demo");
  EXPECT_EQ(second->dtype, "fp32");
}

TEST(BenchSettings, AnUnknownKeyIsWrongUsageThatNamesTheKnownOnes) {
  for (const char* text : {"threads=2", "quality", "=fast", "quality=fast,,"}) {
    const auto refused = lay_over(text, {});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_NE(refused.error().line().find("attention-backend"), std::string::npos) << refused.error().line();
  }
}

}  // namespace
}  // namespace tessera::cli
