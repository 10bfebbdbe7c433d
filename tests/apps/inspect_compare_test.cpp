// `tessera inspect` and `tessera compare` as a user calls them, on small files.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include "apps/cli/commands.h"
#include "base/json.h"
#include "media/png.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace tessera::cli {
namespace {

const std::string kGolden = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/safetensors/";

/// Runs one command with --json; its output as JSON, or its error.
Result<Json> run(Command (*add)(CLI::App&, SharedOptions&), std::vector<std::string> arguments) {
  CLI::App app;
  SharedOptions shared;
  const Command command = add(app, shared);
  arguments.insert(arguments.begin(), command.app->get_name());
  arguments.push_back("--json");
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  app.parse(arguments);
  ::testing::internal::CaptureStdout();
  const Status status = command.action();
  const std::string out = ::testing::internal::GetCapturedStdout();
  if (!status) return fail(status.error());
  return Json::parse(out);
}

std::string tensor_file(const std::string& name, const std::string& data) {
  return test::safetensors_bytes("{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", data);
}

TEST(Inspect, AFileShowsItsTensorsAndMetadata) {
  const Json out = run(add_inspect, {kGolden + "valid_basic.safetensors"}).value();
  EXPECT_EQ(out["kind"], "weights");
  EXPECT_EQ(out["bytes"], 12);
  EXPECT_EQ(out["parameters"], 3);
  EXPECT_EQ(out["dtypes"], Json::parse(R"({"F32": 2})"));
  EXPECT_EQ(out["metadata"]["format"], "pt");
  EXPECT_EQ(out["tensors"][0]["name"], "a");
}

TEST(Inspect, ShardsAreOneSet) {
  const Json out = run(add_inspect, {kGolden + "sharded_ok"}).value();
  EXPECT_EQ(out["files"].size(), 2u);
  EXPECT_EQ(out["tensors"].size(), 2u);
}

TEST(Inspect, DamageAndAbsenceAreErrors) {
  EXPECT_EQ(run(add_inspect, {kGolden + "overlap.safetensors"}).error().code, ErrorCode::BadFile);
  EXPECT_EQ(run(add_inspect, {kGolden + "sharded_missing_file"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(run(add_inspect, {kGolden + "none"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(run(add_inspect, {kGolden}).error().code, ErrorCode::NotFound);
}

TEST(Inspect, APipelineListsComponentsAndTheirQuantisation) {
  const test::TemporaryFolder folder;
  for (const char* name : {"transformer", "scheduler"}) std::filesystem::create_directory(folder / name);
  test::write_file(folder / "model_index.json", R"({"_class_name": "FluxPipeline",
      "transformer": ["diffusers", "FluxTransformer2DModel"], "scheduler": ["diffusers", "S"]})");
  test::write_file(folder / "transformer/config.json", R"({"quantization_config": {"quant_method": "torchao"}})");
  EXPECT_EQ(run(add_inspect, {folder.path()}).error().code, ErrorCode::NotFound);
  test::write_file(folder / "transformer/diffusion_pytorch_model.safetensors", tensor_file("w", "1234"));
  const Json out = run(add_inspect, {folder.path()}).value();
  EXPECT_EQ(out["class"], "FluxPipeline");
  EXPECT_EQ(out["bytes"], 4);
  EXPECT_EQ(out["components"]["transformer"]["quantization"], "torchao");
  EXPECT_FALSE(out["components"]["scheduler"].contains("tensors"));
}

TEST(Compare, PicturesOfOneSizeAreMeasured) {
  const test::TemporaryFolder folder;
  std::vector<uint8_t> pixels(16 * 16 * 3, 100);
  ASSERT_TRUE(media::write_png(folder / "a.png", {pixels.data(), 16, 16}));
  pixels[5] = 103;
  ASSERT_TRUE(media::write_png(folder / "b.png", {pixels.data(), 16, 16}));
  ASSERT_TRUE(media::write_png(folder / "c.png", {pixels.data(), 8, 32}));
  const Json same = run(add_compare, {folder / "a.png", folder / "a.png"}).value();
  EXPECT_EQ(same["equal"], true);
  EXPECT_TRUE(same["psnr"].is_null());
  const Json other = run(add_compare, {folder / "a.png", folder / "b.png"}).value();
  EXPECT_EQ(other["equal"], false);
  EXPECT_EQ(other["max_abs_difference"], 3);
  EXPECT_GT(other["psnr"], 60);
  EXPECT_EQ(run(add_compare, {folder / "a.png", folder / "c.png"}).error().code, ErrorCode::BadFile);
  EXPECT_EQ(run(add_compare, {folder / "a.png", kGolden + "valid_basic.safetensors"}).error().code, ErrorCode::Usage);
}

TEST(Compare, FoldersOfFramesNeedTheSameNames) {
  const test::TemporaryFolder folder;
  const std::vector<uint8_t> pixels(4 * 4 * 3, 9);
  for (const char* name : {"a", "b", "c"}) std::filesystem::create_directory(folder / name);
  for (const char* name : {"a/frame_0.png", "a/frame_1.png", "b/frame_0.png", "b/frame_1.png", "c/frame_0.png"}) {
    ASSERT_TRUE(media::write_png(folder / name, {pixels.data(), 4, 4}));
  }
  const Json out = run(add_compare, {folder / "a", folder / "b"}).value();
  EXPECT_EQ(out["frames"].size(), 2u);
  EXPECT_EQ(out["ssim"], 1.0);
  EXPECT_FALSE(run(add_compare, {folder / "a", folder / "c"}));
}

TEST(Compare, TensorsAreMatchedByName) {
  const test::TemporaryFolder folder;
  const auto text = [](float value) { return std::string(reinterpret_cast<const char*>(&value), 4); };
  test::write_file(folder / "a.safetensors", tensor_file("w", text(1.5f)));
  test::write_file(folder / "b.safetensors", tensor_file("w", text(1.0f)));
  test::write_file(folder / "c.safetensors", tensor_file("v", text(1.5f)));
  test::write_file(folder / "nan.safetensors", tensor_file("w", text(std::nanf(""))));
  const Json out = run(add_compare, {folder / "a.safetensors", folder / "b.safetensors"}).value();
  EXPECT_EQ(out["max_abs_difference"], 0.5);
  EXPECT_EQ(out["worst"], "w");
  EXPECT_EQ(out["equal"], false);
  const Json renamed = run(add_compare, {folder / "a.safetensors", folder / "c.safetensors"}).value();
  EXPECT_EQ(renamed["equal"], false);
  EXPECT_EQ(renamed["only_in_b"][0], "v");
  const Json nan = run(add_compare, {folder / "a.safetensors", folder / "nan.safetensors"}).value();
  EXPECT_EQ(nan["equal"], false);
  EXPECT_TRUE(nan["max_abs_difference"].is_null());
  EXPECT_EQ(nan["worst"], "w");
}

}  // namespace
}  // namespace tessera::cli
