// Tensors over mapped files, and how a model's constructor asks for them.
#include "tensor/aten.h"

#include "weights/weight_map.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/json.h"
#include "tensor/dtypes.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"
#include "weights/tensors.h"

namespace tessera::weights {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/golden/safetensors";

WeightMap golden(const std::string& name, std::optional<at::ScalarType> dtype = {}) {
  return to_weight_map(open_file(kGolden / (name + ".safetensors")).value(), dtype).value();
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const RuntimeFault& e) {
    EXPECT_EQ(e.error.code, ErrorCode::BadFile);
    return e.error.line();
  }
  return "nothing thrown";
}

TEST(WeightMap, TensorsLookIntoTheFileWithoutACopy) {
  const Checkpoint checkpoint = open_file(kGolden / "valid_dtypes.safetensors").value();
  const WeightMap map = to_weight_map(checkpoint, std::nullopt).value();
  for (const auto& [name, stored] : checkpoint.tensors) {
    const at::Tensor tensor = map.get(name, stored.info.shape);
    EXPECT_EQ(tensor.scalar_type(), tensor::scalar_type(*stored.info.dtype)) << name;
    const bool aligned = reinterpret_cast<uintptr_t>(stored.bytes().data()) % tensor.element_size() == 0;
    EXPECT_EQ(tensor.const_data_ptr() == stored.bytes().data(), aligned) << name;
  }
}

TEST(WeightMap, TensorsOutliveTheMapAndTheCheckpoint) {
  at::Tensor tensor = golden("valid_basic").get("a", {2});
  EXPECT_EQ(tensor[0].item<float>(), 1.5f);
  EXPECT_EQ(tensor[1].item<float>(), -2.0f);
}

TEST(WeightMap, MisalignedDataIsCopiedAndRight) {
  const at::Tensor tensor = golden("misaligned_tensor").get("f", {2});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % sizeof(float), 0u);
  EXPECT_EQ(tensor[1].item<float>(), 2.0f);
}

TEST(WeightMap, EveryDtypeIsReadAndConverted) {
  const WeightMap map = golden("valid_dtypes", at::kFloat);
  EXPECT_EQ(map.get("t_bf16", {2})[1].item<float>(), -96.0f);
  EXPECT_EQ(map.get("t_f16", {2})[0].item<float>(), 0.5f);
  EXPECT_EQ(map.get("t_f8_e4m3", {2})[0].item<float>(), 1.0f);
  EXPECT_EQ(map.get("t_f8_e5m2", {2})[0].item<float>(), 1.0f);
  EXPECT_EQ(map.get("t_f64", {2}).scalar_type(), at::kFloat);
  EXPECT_EQ(map.get("t_i64", {2})[1].item<int64_t>(), 5);
  EXPECT_EQ(map.get("t_bool", {2}).scalar_type(), at::kBool);
  EXPECT_EQ(map.as(at::kDouble).get("t_f16", {2}).scalar_type(), at::kDouble);
}

TEST(WeightMap, ScalarsAndEmptyTensorsKeepTheirShape) {
  const WeightMap map = golden("valid_scalar_and_empty");
  EXPECT_EQ(map.get("s", {}).item<float>(), 42.0f);
  EXPECT_EQ(map.get("e2", {3, 0, 2}).numel(), 0);
}

TEST(WeightMap, ATypeWithoutATensorIsNamed) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "m.safetensors",
                   test::safetensors_bytes(R"({"q":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", "12"));
  const auto map = to_weight_map(open_file(folder / "m.safetensors").value(), at::kFloat);
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, ErrorCode::Unsupported);
  EXPECT_NE(map.error().what.find("'q'"), std::string::npos);
}

TEST(WeightMap, AnEmptyTensorTooLargeToIndexIsRefused) {
  const test::TemporaryFolder folder;
  test::write_file(folder / "m.safetensors", test::safetensors_bytes(R"({"q":{"dtype":"U8",
      "shape":[0,9223372036854775807,9223372036854775807],"data_offsets":[0,0]}})"));
  const auto map = to_weight_map(open_file(folder / "m.safetensors").value(), at::kFloat);
  if (!map) {
    EXPECT_EQ(map.error().code, ErrorCode::BadFile);
  }
}

TEST(WeightMap, MissingAndMisshapenTensorsAreNamedWithFileAndExpectation) {
  const WeightMap map({{"block.0.weight", at::zeros({2, 3})}}, at::kFloat, "folder/model.safetensors");
  const std::string missing = message_of([&] { map.sub("block.0").get("bias", {3}); });
  for (const char* part : {"block.0.bias", "folder/model.safetensors", "[3]"}) {
    EXPECT_NE(missing.find(part), std::string::npos) << missing;
  }
  const std::string shape = message_of([&] { map.sub("block").sub("0").get("weight", {2, -1, 4}); });
  for (const char* part : {"block.0.weight", "folder/model.safetensors", "[2, 3]", "[2, *, 4]"}) {
    EXPECT_NE(shape.find(part), std::string::npos) << shape;
  }
  EXPECT_EQ(map.get("block.0.weight", {-1, 3}).size(0), 2);
}

TEST(WeightMap, OnlyMinusOneMeansAnySize) {
  const WeightMap map({{"w", at::zeros({6, 2})}}, at::kFloat, "here");
  EXPECT_EQ(map.get("w", {-1, 2}).size(0), 6);
  const std::string line = message_of([&] { map.get("w", {-2, 2}); });
  EXPECT_NE(line.find("[-2, 2]"), std::string::npos) << line;
}

TEST(WeightMap, OptionalTensorsAreFoundOrNothing) {
  const WeightMap map({{"a", at::zeros({2})}}, at::kFloat, "m");
  EXPECT_TRUE(map.find("a", {2}).has_value());
  EXPECT_FALSE(map.find("b", {2}).has_value());
  EXPECT_NE(message_of([&] { map.find("a", {3}); }).find("[3]"), std::string::npos);
}

TEST(WeightMap, ReportsTensorsThatNobodyAskedFor) {
  const WeightMap map({{"a.x", at::zeros({1})}, {"a.y", at::zeros({1})}, {"b", at::zeros({1})}}, at::kFloat, "m");
  map.sub("a").get("x", {1});
  EXPECT_EQ(map.unused(), (std::vector<std::string>{"a.y", "b"}));
  EXPECT_EQ(map.sub("a").names(), (std::vector<std::string>{"x", "y"}));
}

TEST(WeightMap, AStoredTypeThatFitsIsNotCopied) {
  const at::Tensor stored = at::zeros({4}, at::kBFloat16);
  const WeightMap map({{"a", stored}}, at::kBFloat16, "m");
  EXPECT_TRUE(map.get("a", {4}).is_same(stored));
}

/// Resident bytes of the mapping that holds `address`, from /proc/self/smaps.
int64_t resident_kilobytes(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto at = reinterpret_cast<unsigned long>(address);
      inside = begin <= at && at < end;
    }
    if (inside && line.starts_with("Rss:")) return std::stoll(line.substr(4));
  }
  return -1;
}

TEST(WeightMap, AConversionLeavesNoStoredPagesResident) {
  const test::TemporaryFolder folder;
  const std::string data(1 << 20, '\x01');
  test::write_file(
      folder / "m.safetensors",
      test::safetensors_bytes(R"({"a":{"dtype":"BF16","shape":[524288],"data_offsets":[0,1048576]}})", data));
  const Checkpoint checkpoint = open_file(folder / "m.safetensors").value();
  const void* address = checkpoint.tensors.at("a").bytes().data();
  const WeightMap map = to_weight_map(checkpoint, at::kFloat).value();
  EXPECT_GT(map.as(std::nullopt).get("a", {-1}).sum().item<float>(), 0.0f);
  EXPECT_GT(resident_kilobytes(address), 900);
  const at::Tensor converted = map.get("a", {-1});
  EXPECT_LT(resident_kilobytes(address), 100);
  EXPECT_GT(converted.sum().item<float>(), 0.0f);
}

}  // namespace
}  // namespace tessera::weights
