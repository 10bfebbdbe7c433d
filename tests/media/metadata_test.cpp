#include "media/metadata.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace tessera::media {
namespace {

const std::vector<uint8_t> kPixel = {1, 2, 3};

TEST(Metadata, ARecipeComesBackFromThePicture) {
  const test::TemporaryFolder folder;
  const Json recipe = {
      {"model", "demo"},
      {"request", {{"prompt", "a fox, \"größe\" 名前"}, {"seed", 18446744073709551615u}, {"guidance_scale", 3.5}}}};
  ASSERT_TRUE(write_png(folder / "a.png", {kPixel.data(), 1, 1}, recipe_texts(recipe)));
  EXPECT_EQ(read_recipe(folder / "a.png").value(), recipe);
}

TEST(Metadata, PeopleReadThePromptAndTheValues) {
  const Json recipe = {{"request", {{"prompt", "red apple"}, {"num_inference_steps", 4}, {"seed", 7}, {"x", nullptr}}}};
  EXPECT_EQ(recipe_texts(recipe).at("parameters"), "red apple\nNum inference steps: 4, Seed: 7");
}

TEST(Metadata, BrokenBytesAndNulsInAPromptDoNotStopThePicture) {
  const test::TemporaryFolder folder;
  const Json recipe = {{"prompt", std::string("a\xff\0b", 4)}};
  ASSERT_TRUE(write_png(folder / "a.png", {kPixel.data(), 1, 1}, recipe_texts(recipe)));
  EXPECT_EQ(read_recipe(folder / "a.png").value()["prompt"], std::string("a\xEF\xBF\xBD\0b", 6));
}

TEST(Metadata, APictureWithoutARecipeSaysSo) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_png(folder / "a.png", {kPixel.data(), 1, 1}));
  EXPECT_NE(read_recipe(folder / "a.png").error().what.find("no recipe"), std::string::npos);
  ASSERT_TRUE(write_png(folder / "b.png", {kPixel.data(), 1, 1}, {{"tessera", "{\"a\""}}));
  EXPECT_EQ(read_recipe(folder / "b.png").error().code, ErrorCode::BadFile);
  ASSERT_TRUE(write_png(folder / "c.png", {kPixel.data(), 1, 1}, {{"tessera", "[]"}}));
  EXPECT_EQ(read_recipe(folder / "c.png").error().code, ErrorCode::BadFile);
}

}  // namespace
}  // namespace tessera::media
