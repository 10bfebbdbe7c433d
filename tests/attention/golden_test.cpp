// golden_check's attention part: passes on good data, and notices wrong answers and damaged indexes.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "apps/golden_check/attention.h"
#include "base/file.h"

namespace tessera::golden {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(TESSERA_SOURCE_DIR) / "tests/golden/attention";

/// A folder with copies of some cases, and with what `change` makes of the index.
class GoldenAttention : public testing::Test {
 protected:
  fs::path folder_ = fs::temp_directory_path() / ("tessera_golden_" + std::to_string(::getpid()));

  void TearDown() override { fs::remove_all(folder_); }

  template <typename Change>
  GoldenReport check_changed(const std::string& name, Change change) {
    Json index = json::read_file(kFolder / "index.json").value();
    Json kept = Json::array();
    for (auto& row : index["cases"]) {
      if (row["name"] == name) kept.push_back(row);
    }
    fs::create_directories(folder_);
    fs::copy_file(kFolder / (name + ".safetensors"), folder_ / (name + ".safetensors"),
                  fs::copy_options::overwrite_existing);
    change(kept[0]);
    index["cases"] = kept;
    EXPECT_TRUE(file::write_atomically(folder_ / "index.json", index.dump()));
    EXPECT_TRUE(is_attention(folder_));
    return check_attention(folder_);
  }
};

TEST_F(GoldenAttention, PassesOnEveryCaseOfEveryBackend) {
  const GoldenReport report = check_attention(kFolder);
  EXPECT_GE(report.checked, 150);
  EXPECT_EQ(report.passed, report.checked);
  for (const auto& f : report.failed) ADD_FAILURE() << f.name << ": " << f.what << " " << f.got << ", want " << f.want;
}

TEST_F(GoldenAttention, FailsWhenTheProblemIsAnother) {
  const auto good = check_changed("causal_wide", [](Json&) {});
  EXPECT_EQ(good.passed, good.checked);
  const auto bad = check_changed("causal_wide", [](Json& row) { row["causal"] = false; });
  EXPECT_EQ(bad.passed, 0);
  EXPECT_GT(bad.checked, 0);
  const auto scaled = check_changed("self_d64", [](Json& row) { row["scale"] = 0.2; });
  EXPECT_EQ(scaled.passed, 0);
}

TEST_F(GoldenAttention, ReportsDamagedRowsAsFailures) {
  const auto outside = check_changed("self_d64", [](Json& row) { row["views"]["k"]["offset"] = 1; });
  EXPECT_EQ(outside.failed.size(), 1U);
  const auto missing = check_changed("self_d64", [](Json& row) { row["file"] = "nowhere.safetensors"; });
  EXPECT_EQ(missing.failed.size(), 1U);
  const auto typed = check_changed("self_d64", [](Json& row) { row["views"]["q"]["shape"] = "large"; });
  EXPECT_EQ(typed.failed.size(), 1U);
}

TEST_F(GoldenAttention, KnowsItsFolders) {
  EXPECT_TRUE(is_attention(kFolder));
  EXPECT_FALSE(is_attention(fs::path(TESSERA_SOURCE_DIR) / "tests/golden/safetensors"));
  EXPECT_FALSE(is_attention(fs::path(TESSERA_SOURCE_DIR) / "tests"));
}

}  // namespace
}  // namespace tessera::golden
