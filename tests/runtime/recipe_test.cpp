#include "runtime/recipe.h"

#include <gtest/gtest.h>

namespace tessera::runtime {

TEST(Recipe, ComesBackWhole) {
  Recipe recipe;
  recipe.request.prompt = "a fox";
  recipe.request.seed = 18446744073709551615ull;
  recipe.request.guidance_scale = 3.5;
  recipe.options.dtype = "bf16";
  recipe.options.attention_backend = "prefer:cpu_flash";
  const Json json = to_json(recipe, "0");
  const auto copy = parse_recipe(json, "a.png");
  ASSERT_TRUE(copy);
  EXPECT_EQ(to_json(*copy, "0"), json);
}

TEST(Recipe, AnotherTextIsRefused) {
  EXPECT_EQ(parse_recipe(Json::object(), "a.png").error().code, ErrorCode::BadFile);
  EXPECT_EQ(parse_recipe(Json{1}, "a.png").error().code, ErrorCode::BadFile);
  EXPECT_EQ(parse_recipe(Json{{"tessera", "0"}, {"request", {{"seed", "x"}}}}, "a.png").error().code,
            ErrorCode::BadFile);
}

}  // namespace tessera::runtime
