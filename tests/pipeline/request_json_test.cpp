#include "pipeline/request_json.h"

#include <gtest/gtest.h>

namespace tessera::pipeline {

TEST(RequestJson, ARequestComesBackWhole) {
  GenerateRequest request{.prompt = "a fox", .negative_prompt = "", .height = 96, .guidance_scale = 3.5};
  request.seed = UINT64_MAX;
  request.cfg_normalization = false;
  GenerateRequest copy;
  ASSERT_TRUE(apply_json(Json::parse(to_json(request).dump()), copy));
  EXPECT_EQ(to_json(copy), to_json(request));
  EXPECT_EQ(copy.seed, UINT64_MAX);
  EXPECT_EQ(copy.negative_prompt, "");
  EXPECT_FALSE(copy.width);
}

TEST(RequestJson, AWrongTypeNamesTheField) {
  GenerateRequest request;
  const Status status = apply_json(Json{{"height", "tall"}}, request);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().what.find("height"), std::string::npos);
}

TEST(RequestJson, DefaultsFillOnlyWhatIsAbsent) {
  const GenerateRequest asked{.prompt = "a", .height = 64};
  const GenerateRequest defaults{.prompt = "b", .height = 128, .width = 128};
  const GenerateRequest out = with_defaults(asked, defaults);
  EXPECT_EQ(out.prompt, "a");
  EXPECT_EQ(out.height, 64);
  EXPECT_EQ(out.width, 128);
}

}  // namespace tessera::pipeline
