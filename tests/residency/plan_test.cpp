#include "residency/plan.h"

#include <gtest/gtest.h>

#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace tessera::residency {
namespace {

constexpr int64_t kGB = 1'000'000'000;

ResidencyPlan flux_like() {
  return make_plan(
      {{"encode", {{"text_encoder", 1 * kGB, 0, 1 * kGB}, {"text_encoder_2", 9 * kGB, 0, 9 * kGB}}, kGB / 10},
       {"denoise", {{"transformer", 12 * kGB, 24 * kGB, 0}}, kGB / 2},
       {"decode", {{"vae", kGB / 5, 0, kGB / 5}}, 2 * kGB}});
}

TEST(Plan, ThePeakIsTheLargestStageNotTheSum) {
  const ResidencyPlan plan = flux_like();
  EXPECT_EQ(plan.peak(Counts::Resident)->stage.name, "denoise");
  EXPECT_EQ(plan.peak(Counts::Resident)->resident_bytes, 24 * kGB + kGB / 2);
  EXPECT_EQ(plan.peak(Counts::AddressSpace)->address_bytes, 36 * kGB + kGB / 2);
  EXPECT_EQ(plan.stages[0].data_bytes, kGB / 10);
  EXPECT_EQ(make_plan({}).peak(Counts::Data), nullptr);
}

TEST(Plan, WhatFitsEveryLimitIsAccepted) {
  const std::vector<MemoryLimit> limits = {{"ulimit", Counts::AddressSpace, 37 * kGB},
                                           {"free", Counts::Resident, 25 * kGB}};
  EXPECT_TRUE(check_plan(flux_like(), limits));
  EXPECT_TRUE(check_plan(flux_like(), {}));
  EXPECT_TRUE(check_plan(make_plan({}), limits));
}

TEST(Plan, ARefusalSaysStagePartsLimitAndNumbers) {
  const auto refused = check_plan(flux_like(), {{"the free memory of this machine", Counts::Resident, 16 * kGB},
                                                {"the data limit", Counts::Data, 24 * kGB}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
  for (const char* part :
       {"denoise", "24.50 GB", "transformer 24.00 GB", "activations 500 MB", "free memory", "16.00 GB"}) {
    EXPECT_NE(refused.error().what.find(part), std::string::npos) << part << " in " << refused.error().what;
  }
}

TEST(Plan, SizesComeFromHeadersAndKnowWhatIsConverted) {
  const test::TemporaryFolder folder;
  const std::string header = R"({"h":{"dtype":"BF16","shape":[8],"data_offsets":[0,16]},
      "f":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}})";
  const size_t padding = (8 - header.size() % 8) % 8;  // keeps the data aligned
  test::write_file(folder / "model.safetensors",
                   test::safetensors_bytes(header + std::string(padding, ' '), std::string(24, 'x')));
  const auto checkpoint = weights::open_component(folder.path()).value();
  const ComponentSize stored = component_size("vae", checkpoint, std::nullopt);
  EXPECT_EQ(stored.mapped_bytes, 24);
  EXPECT_EQ(stored.copied_bytes, 0);
  EXPECT_EQ(stored.resident_bytes(), 24);
  const ComponentSize single = component_size("vae", checkpoint, DType::F32);
  EXPECT_EQ(single.copied_bytes, 32);
  EXPECT_EQ(single.used_in_place, 8);
  EXPECT_EQ(single.resident_bytes(), 40);
}

TEST(Plan, BytesAreWrittenInDecimalUnits) {
  EXPECT_EQ(bytes_text(12), "12 B");
  EXPECT_EQ(bytes_text(999'600), "1 MB");
  EXPECT_EQ(bytes_text(23'800'000'000), "23.80 GB");
}

}  // namespace
}  // namespace tessera::residency
