#include "weights/pipeline_folder.h"

#include <gtest/gtest.h>

#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace tessera::weights {
namespace {

TEST(PipelineFolder, ListsComponentsWithoutThoseSwitchedOff) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "model_index.json", R"({"_class_name": "WanPipeline", "boundary_ratio": 0.875,
      "vae": ["diffusers", "AutoencoderKLWan"], "transformer_2": [null, null], "expand_timesteps": true})");
  const PipelineFolder opened = open_pipeline_folder(folder.path()).value();
  EXPECT_EQ(opened.class_name, "WanPipeline");
  EXPECT_EQ(opened.components.size(), 1u);
  EXPECT_EQ(opened.components.at("vae").name, "AutoencoderKLWan");
  EXPECT_FALSE(opened.has("transformer_2"));
  EXPECT_EQ(opened.index["boundary_ratio"], 0.875);
}

TEST(PipelineFolder, SaysWhatIsMissing) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(open_pipeline_folder(folder / "none").error().code, ErrorCode::NotFound);
  EXPECT_EQ(open_pipeline_folder(folder.path()).error().code, ErrorCode::NotFound);
  for (const char* text : {"[1]", "{}", "{\"_class_name\": 3}", "{"}) {
    test::write_file(folder / "model_index.json", text);
    EXPECT_EQ(open_pipeline_folder(folder.path()).error().code, ErrorCode::BadFile) << text;
  }
}

TEST(PipelineFolder, AComponentsConfigIsAnObjectOrAnErrorThatNamesTheFile) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "model_index.json", R"({"_class_name": "FluxPipeline"})");
  const PipelineFolder opened = open_pipeline_folder(folder.path()).value();
  std::filesystem::create_directory(folder / "vae");
  EXPECT_EQ(opened.config("vae").error().code, ErrorCode::NotFound);
  test::write_file(folder / "vae/config.json", "[]");
  EXPECT_NE(opened.config("vae").error().what.find("vae/config.json"), std::string::npos);
  test::write_file(folder / "vae/config.json", R"({"scaling_factor": 0.5})");
  EXPECT_EQ(opened.config("vae").value()["scaling_factor"], 0.5);
}

}  // namespace
}  // namespace tessera::weights
