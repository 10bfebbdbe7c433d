#include "apps/golden_check/pipelines.h"

#include <gtest/gtest.h>

#include "tests/models/golden_data.h"

namespace tessera::models {

// Made by the generator of the golden pipelines with a narrower model and an input image of another size.
TEST(WanGolden, EveryTensorOfTheImageToVideoCaseAgrees) {
  const golden::GoldenReport report = golden::check_pipeline(golden("pipelines/wan2.2-ti2v-i2v-small"));
  EXPECT_GE(report.checked, 45);
  for (const auto& failure : report.failed) {
    ADD_FAILURE() << failure.name << ": got " << failure.got << ", want " << failure.want;
  }
}

}  // namespace tessera::models
