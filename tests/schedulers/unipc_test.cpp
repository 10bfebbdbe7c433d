#include "schedulers/unipc.h"

#include <gtest/gtest.h>

#include "schedulers/catalog.h"

namespace tessera::schedulers {
namespace {

Json flow_config(const Json& more) {
  Json config = {{"_class_name", "UniPCMultistepScheduler"},
                 {"prediction_type", "flow_prediction"},
                 {"use_flow_sigmas", true},
                 {"final_sigmas_type", "zero"}};
  config.update(more);
  return config;
}

}  // namespace

// Printed by diffusers 0.42.1: model output sin(1.7 x) + 0.1 * step, from x = (0.5, -1.25, 2).
TEST(UniPc, EqualsDiffusersForOrdersShiftsAndSwitches) {
  const struct {
    Json config;
    int64_t steps;
    std::vector<int64_t> timesteps;
    std::array<float, 3> want;
  } cases[] = {
      {{{"flow_shift", 5.0}}, 4, {999, 937, 833, 625}, {-0.196529999f, -0.531362236f, 2.06190038f}},
      {{{"flow_shift", 3.0}, {"solver_order", 3}},
       5,
       {999, 923, 818, 667, 429},
       {-0.147539258f, -0.586729765f, 2.0018065f}},
      {{{"flow_shift", 3.0}}, 1, {999}, {-0.251279652f, -0.399681032f, 2.25554085f}},
      {{{"flow_shift", 2.0}, {"disable_corrector", {0, 1}}},
       4,
       {999, 857, 667, 400},
       {-0.0869061649f, -0.496898115f, 2.17858052f}},
      {{{"flow_shift", 2.0}, {"shift_terminal", 0.02}}, 3, {999, 607, 20}, {-0.027051514f, -0.374498785f, 2.30148339f}},
  };
  for (const auto& c : cases) {
    const auto made = make_scheduler(flow_config(c.config), {.num_steps = c.steps});
    ASSERT_TRUE(made) << made.error().line();
    Scheduler& scheduler = **made;
    at::Tensor x = at::empty({1, 1, 3}, at::kFloat);
    x.data_ptr<float>()[0] = 0.5f;
    x.data_ptr<float>()[1] = -1.25f;
    x.data_ptr<float>()[2] = 2.0f;
    for (int64_t i = 0; i < c.steps; ++i) {
      EXPECT_EQ(scheduler.timesteps()[i].item<int64_t>(), c.timesteps[static_cast<size_t>(i)]) << c.config;
      x = scheduler.step(at::sin(x * 1.7) + 0.1 * static_cast<double>(i), i, x);
    }
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(x[0][0][k].item<float>(), c.want[static_cast<size_t>(k)], 2e-5f) << c.config;
    }
  }
}

TEST(UniPc, OtherNoiseSchedulesAreRefusedByName) {
  for (const Json& more : {Json{{"prediction_type", "epsilon"}}, Json{{"use_karras_sigmas", true}},
                           Json{{"use_flow_sigmas", false}}, Json{{"thresholding", true}}}) {
    const auto made = make_scheduler(flow_config(more), {.num_steps = 2});
    ASSERT_FALSE(made) << more;
    EXPECT_EQ(made.error().code, ErrorCode::Unsupported) << more;
    EXPECT_NE(made.error().what.find(more.begin().key()), std::string::npos) << made.error().what;
  }
}

TEST(UniPc, DynamicShiftingNeedsItsAmount) {
  const auto made = make_scheduler(flow_config({{"use_dynamic_shifting", true}}), {.num_steps = 2});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::Misuse);
}

}  // namespace tessera::schedulers
