#include "models/catalog.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/models/golden_data.h"

namespace tessera::models {
namespace {

std::filesystem::path folder_with_index(const std::string& name, const std::string& index) {
  const std::filesystem::path folder = std::filesystem::path(TESSERA_BINARY_DIR) / "test_models" / name;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "model_index.json") << index;
  return folder;
}

}  // namespace

TEST(ModelCatalog, AnUnknownPipelineClassIsNamedWithTheKnownOnes) {
  const auto opened = open_pipeline(folder_with_index("unknown_class", R"({"_class_name": "NoSuchPipeline"})"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::Unsupported);
  EXPECT_NE(opened.error().line().find("NoSuchPipeline"), std::string::npos);
  EXPECT_NE(opened.error().line().find("FluxPipeline"), std::string::npos);
}

TEST(ModelCatalog, AComponentOfAnotherClassIsUnsupported) {
  const auto opened = open_pipeline(folder_with_index("other_component", R"({"_class_name": "FluxPipeline",
      "text_encoder": ["transformers", "CLIPTextModel"], "text_encoder_2": ["transformers", "GemmaModel"],
      "transformer": ["diffusers", "FluxTransformer2DModel"], "vae": ["diffusers", "AutoencoderKL"]})"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::Unsupported);
  EXPECT_NE(opened.error().line().find("GemmaModel"), std::string::npos);
}

TEST(ModelCatalog, AMissingFolderIsNotFound) {
  const auto opened = open_pipeline("no/such/folder");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::NotFound);
}

}  // namespace tessera::models
