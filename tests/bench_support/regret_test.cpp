// The cost of a choice against the fastest one.
#include "bench_support/regret.h"

#include <gtest/gtest.h>

namespace tessera::bench_support {
namespace {

const std::vector<Timing> kTimes = {{"fa2", 0.30}, {"torch_cudnn_sdpa", 0.20}, {"torch_sdpa", 0.25}};

TEST(Regret, IsTheChosenTimeOverTheBest) {
  const Regret r = regret_of("torch_sdpa", kTimes);
  EXPECT_EQ(r.best, "torch_cudnn_sdpa");
  ASSERT_TRUE(r.loss);
  EXPECT_NEAR(*r.loss, 0.25, 1e-12);
}

TEST(Regret, IsNothingForTheBestAndForTimesWithinTheNoise) {
  EXPECT_EQ(regret_of("torch_cudnn_sdpa", kTimes).loss, 0.0);
  const Regret close = regret_of("fa2", {{"fa2", 0.201}, {"torch_cudnn_sdpa", 0.2}});
  EXPECT_EQ(close.loss, 0.0);
  EXPECT_EQ(close.best, "fa2");
  EXPECT_GT(regret_of("fa2", {{"fa2", 0.203}, {"torch_cudnn_sdpa", 0.2}}).loss, 0.0);
}

TEST(Regret, IsUnknownForABackendThatWasNotMeasured) {
  const Regret r = regret_of("fa4", kTimes);
  EXPECT_FALSE(r.loss);
  EXPECT_EQ(r.best, "torch_cudnn_sdpa");
  EXPECT_EQ(r.chosen, "fa4");
}

TEST(Regret, TheSummaryLeavesOutWhatWasNotMeasured) {
  const auto json = summary_of({{"a", "a", 0.0}, {"a", "b", 0.3}, {"a", "c", std::nullopt}});
  EXPECT_EQ(json["shapes"], 3);
  EXPECT_EQ(json["measured"], 2);
  EXPECT_EQ(json["agreed"], 1);
  EXPECT_NEAR(json["mean_loss"].get<double>(), 0.15, 1e-12);
  EXPECT_NEAR(json["worst_loss"].get<double>(), 0.3, 1e-12);
  EXPECT_EQ(summary_of({})["mean_loss"], 0.0);
}

}  // namespace
}  // namespace tessera::bench_support
