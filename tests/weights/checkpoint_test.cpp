// Component folders: single files, shards, variants, and what is missing in them.
#include "weights/checkpoint.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace tessera::weights {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/golden/safetensors";

std::string one_tensor(const std::string& name, const std::string& data = "12345678") {
  const auto n = std::to_string(data.size() / 2);
  return test::safetensors_bytes("{\"" + name + "\":{\"dtype\":\"BF16\",\"shape\":[" + n + "],\"data_offsets\":[0," +
                                     std::to_string(data.size()) + "]}}",
                                 data);
}

std::string index_text(const std::string& tensor, const std::string& shard) {
  return R"({"weight_map": {")" + tensor + R"(": ")" + shard + R"("}})";
}

TEST(Checkpoint, DecidesGoldenShardFoldersAsTheNoteSays) {
  const Json index = json::read_file(kGolden / "index.json").value();
  int checked = 0;
  for (const Json& want : index["cases"]) {
    if (!want.contains("folder")) continue;
    const auto checkpoint = open_index(kGolden / want["folder"].get<std::string>() / want["index"].get<std::string>());
    EXPECT_EQ(checkpoint.has_value(), want["expect"] == "accept")
        << want["name"] << (checkpoint ? "" : checkpoint.error().line());
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

TEST(Checkpoint, ShardsFormOneSetOfTensors) {
  const Checkpoint checkpoint = open_component(kGolden / "sharded_ok").value();
  EXPECT_EQ(checkpoint.files.size(), 2u);
  EXPECT_EQ(checkpoint.tensors.size(), 2u);
  EXPECT_EQ(checkpoint.tensors.at("b").bytes().size(),
            static_cast<size_t>(checkpoint.tensors.at("b").info.size_bytes()));
}

TEST(Checkpoint, NamesTheMissingShardAndTheMissingTensor) {
  const auto no_shard = open_component(kGolden / "sharded_missing_file");
  ASSERT_FALSE(no_shard);
  EXPECT_EQ(no_shard.error().code, ErrorCode::NotFound);
  EXPECT_NE(no_shard.error().what.find("model-00002-of-00002.safetensors"), std::string::npos);
  const auto no_tensor = open_component(kGolden / "sharded_missing_tensor");
  ASSERT_FALSE(no_tensor);
  EXPECT_NE(no_tensor.error().what.find("'c'"), std::string::npos);
}

TEST(Checkpoint, RefusesShardNamesThatLeaveTheFolder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "inner");
  test::write_file(folder / "inner/s.safetensors", one_tensor("a"));
  for (const char* name : {"inner/s.safetensors", "/etc/passwd", "..", "", "./inner/s.safetensors"}) {
    test::write_file(folder / "model.safetensors.index.json", index_text("a", name));
    const auto checkpoint = open_component(folder.path());
    ASSERT_FALSE(checkpoint) << name;
    EXPECT_EQ(checkpoint.error().code, ErrorCode::BadFile) << name;
    EXPECT_NE(checkpoint.error().what.find("not a plain file name"), std::string::npos) << checkpoint.error().what;
  }
}

TEST(Checkpoint, TakesTheVariantThatIsAskedForElseThePlainFileElseTheOnlyVariant) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "diffusion_pytorch_model.fp16.safetensors", one_tensor("half"));
  EXPECT_TRUE(open_component(folder.path()).value().tensors.contains("half"));
  test::write_file(folder / "diffusion_pytorch_model.safetensors", one_tensor("full"));
  EXPECT_TRUE(open_component(folder.path()).value().tensors.contains("full"));
  EXPECT_TRUE(open_component(folder.path(), "fp16").value().tensors.contains("half"));
  EXPECT_TRUE(open_component(folder.path(), "bf16").value().tensors.contains("full"));
}

TEST(Checkpoint, ReadsShardsOfAVariant) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "model.fp16-00001-of-00001.safetensors", one_tensor("a"));
  test::write_file(folder / "model.safetensors.index.fp16.json",
                   index_text("a", "model.fp16-00001-of-00001.safetensors"));
  EXPECT_TRUE(open_component(folder.path(), "fp16").value().tensors.contains("a"));
  EXPECT_TRUE(open_component(folder.path()).value().tensors.contains("a"));
}

TEST(Checkpoint, TwoVariantsWithoutAChoiceAreAnErrorThatNamesThem) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "model.fp16.safetensors", one_tensor("a"));
  test::write_file(folder / "model.bf16.safetensors", one_tensor("a"));
  const auto checkpoint = open_component(folder.path());
  ASSERT_FALSE(checkpoint);
  EXPECT_NE(checkpoint.error().line().find("bf16, fp16"), std::string::npos) << checkpoint.error().line();
}

TEST(Checkpoint, AnEmptyOrMissingFolderIsNotFound) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(open_component(folder.path()).error().code, ErrorCode::NotFound);
  EXPECT_EQ(open_component(folder / "none").error().code, ErrorCode::NotFound);
  EXPECT_EQ(open_file(folder / "none.safetensors").error().code, ErrorCode::NotFound);
  EXPECT_EQ(open_file(folder.path()).error().code, ErrorCode::Io);
}

TEST(Checkpoint, CountsBytesAsStoredAndInTheComputeType) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "model.safetensors",
                   test::safetensors_bytes(R"({"h":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},
                                               "i":{"dtype":"I64","shape":[1],"data_offsets":[6,14]}})",
                                           std::string(14, 'x')));
  const Checkpoint checkpoint = open_component(folder.path()).value();
  EXPECT_EQ(checkpoint.stored_bytes(), 14);
  EXPECT_EQ(checkpoint.loaded_bytes(DType::F32), 12 + 8);
  EXPECT_EQ(checkpoint.loaded_bytes(DType::F16), 6 + 8);
  EXPECT_EQ(checkpoint.copied_bytes(DType::F32), 12 + (checkpoint.tensors.at("i").info.begin_bytes % 8 == 0 ? 0 : 8));
  EXPECT_LE(checkpoint.copied_bytes(std::nullopt), 14);
}

TEST(Checkpoint, CountsMatricesOfSixteenBitsAsStoredInAnyComputeType) {
  const test::TemporaryFolder folder;
  test::write_file(
      folder / "model.safetensors",
      test::safetensors_bytes(R"({"w":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}})", std::string(8, 'x')));
  const Checkpoint checkpoint = open_component(folder.path()).value();
  EXPECT_EQ(checkpoint.loaded_bytes(DType::F32), 8);
  EXPECT_EQ(checkpoint.loaded_bytes(DType::F16), 8);
}

}  // namespace
}  // namespace tessera::weights
