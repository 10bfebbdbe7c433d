#include "schedulers/flow_match_schedule.h"

#include <gtest/gtest.h>

#include "schedulers/beta_quantile.h"
#include "schedulers/catalog.h"

namespace tessera::schedulers {
namespace {

struct Row {
  const char* config;
  int64_t steps;
  bool passes_sigmas;  // linspace(1, 1/steps, steps), as the Flux and Qwen-Image pipelines do
  std::optional<double> mu;
  std::vector<float> want;
};

// Printed by diffusers 0.42.1: scheduler.set_timesteps(...) and scheduler.sigmas.
const Row kRows[] = {
    {R"({"shift": 3.0})", 4, true, std::nullopt, {1.0f, 0.899999976f, 0.75f, 0.5f, 0.0f}},
    {R"({"shift": 1.0})", 3, true, std::nullopt, {1.0f, 0.666666687f, 0.333333343f, 0.0f}},
    {R"({"shift": 5.0})", 4, false, std::nullopt, {1.0f, 0.909707129f, 0.717317462f, 0.0244140662f, 0.0f}},
    {R"({"use_dynamic_shifting": true, "shift": 3.0})",
     4,
     true,
     0.4607,
     {1.0f, 0.826254606f, 0.61318028f, 0.345718622f, 0.0f}},
    {R"({"use_dynamic_shifting": true, "shift_terminal": 0.02})",
     4,
     true,
     0.7,
     {1.0f, 0.767395914f, 0.456549406f, 0.0200000405f, 0.0f}},
    {R"({"use_dynamic_shifting": true, "time_shift_type": "linear"})", 3, true, 1.5, {1.0f, 0.75f, 0.428571433f, 0.0f}},
    {R"({"use_karras_sigmas": true, "shift": 3.0})",
     4,
     true,
     std::nullopt,
     {1.0f, 0.79970789f, 0.634835005f, 0.5f, 0.0f}},
    {R"({"use_exponential_sigmas": true, "shift": 3.0})",
     4,
     true,
     std::nullopt,
     {1.0f, 0.793700516f, 0.629960537f, 0.5f, 0.0f}},
    {R"({"invert_sigmas": true, "shift": 2.0})", 3, true, std::nullopt, {0.0f, 0.199999988f, 0.5f, 1.0f}},
    {R"({"use_dynamic_shifting": true})", 3, false, 0.6, {1.0f, 0.646113753f, 0.00182062213f, 0.0f}},
};

ScheduleRequest request_of(const Row& row) {
  ScheduleRequest request{.num_steps = row.steps, .sigmas = {}, .mu = row.mu, .generator = {}};
  if (!row.passes_sigmas) return request;
  std::vector<double> sigmas;
  const auto n = static_cast<double>(row.steps);
  for (double i = 0; i < n; ++i) sigmas.push_back(n == 1 ? 1.0 : 1.0 + i * (1 / n - 1) / (n - 1));
  request.sigmas = sigmas;
  return request;
}

}  // namespace

TEST(FlowMatchSchedule, EqualsDiffusersForEveryKindOfShiftAndSpacing) {
  for (const Row& row : kRows) {
    const auto scheduler_config = parse_flow_match_config(Json::parse(row.config));
    ASSERT_TRUE(scheduler_config) << row.config;
    const FlowMatchSchedule schedule = flow_match_schedule(*scheduler_config, request_of(row));
    ASSERT_EQ(schedule.sigmas.size(0), row.steps + 1) << row.config;
    ASSERT_EQ(schedule.timesteps.size(0), row.steps) << row.config;
    for (int64_t i = 0; i <= row.steps; ++i) {
      EXPECT_NEAR(schedule.sigmas[i].item<float>(), row.want[static_cast<size_t>(i)], 1e-7f) << row.config << " " << i;
    }
  }
}

TEST(FlowMatchSchedule, DynamicShiftIsALineThroughTheTwoConfiguredPoints) {
  const FlowMatchConfig config;
  EXPECT_NEAR(dynamic_shift(config, 256), 0.5, 1e-12);
  EXPECT_NEAR(dynamic_shift(config, 4096), 1.15, 1e-12);
}

TEST(FlowMatchSchedule, TwoSpacingsAtOnceAreABadFile) {
  const auto config = parse_flow_match_config(Json{{"use_karras_sigmas", true}, {"use_beta_sigmas", true}});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::BadFile);
}

// beta(1/2, 1/2) is the arcsine distribution: its quantile is sin²(pi p / 2).
TEST(BetaQuantile, EqualsTheArcsineLawForOneHalf) {
  for (double p = 0; p <= 1; p += 0.125) {
    const double sine = std::sin(std::acos(-1.0) * p / 2);
    EXPECT_NEAR(beta_quantile(p, 0.5, 0.5), sine * sine, 1e-12) << p;
  }
}

TEST(BetaQuantile, IsSymmetricForEqualParameters) {
  EXPECT_NEAR(beta_quantile(0.3, 0.6, 0.6), 1 - beta_quantile(0.7, 0.6, 0.6), 1e-12);
  EXPECT_NEAR(beta_quantile(0.5, 0.6, 0.6), 0.5, 1e-12);
}

TEST(Catalog, AnUnknownSchedulerIsNamedWithTheKnownOnes) {
  const auto made = make_scheduler(Json{{"_class_name", "NoSuchScheduler"}}, {.num_steps = 2});
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().line().find("NoSuchScheduler"), std::string::npos);
  EXPECT_NE(made.error().line().find("FlowMatchEulerDiscreteScheduler"), std::string::npos);
}

TEST(FlowMatchEuler, OneStepMovesAlongTheVelocityByTheSigmaDifference) {
  auto made = make_scheduler(Json{{"_class_name", "FlowMatchEulerDiscreteScheduler"}}, {.num_steps = 2});
  ASSERT_TRUE(made);
  const at::Tensor sample = at::ones({2, 3});
  const at::Tensor velocity = at::full({2, 3}, 2.0);
  const float dt = ((*made)->sigmas()[1] - (*made)->sigmas()[0]).item<float>();
  EXPECT_TRUE(at::equal((*made)->step(velocity, 0, sample), sample + velocity * dt));
}

}  // namespace tessera::schedulers
