// The canary catches kernels that do not compute attention, and lets all others pass.
#include "attention/canary.h"

#include <gtest/gtest.h>

#include "attention/backends/factory.h"
#include "tests/attention/problems.h"

namespace tessera::attention {
namespace {

AttentionOutputs right_answer(const AttentionInputs& inputs, BackendId id = BackendId::TorchSdpa) {
  AttentionOutputs outputs = allocate_outputs(inputs, true);
  poison(outputs);
  EXPECT_TRUE(make_backend(id)->run(inputs, outputs, Quality::Exact));
  return outputs;
}

void expect_caught(const AttentionInputs& inputs, const AttentionOutputs& outputs, const std::string& word) {
  const Status status = check_outputs(inputs, outputs, 0);
  ASSERT_FALSE(status) << word;
  EXPECT_EQ(status.error().code, ErrorCode::NumericalFault);
  EXPECT_NE(status.error().what.find(word), std::string::npos) << status.error().what;
}

TEST(Canary, PassesEveryExactBackendOnEveryProblem) {
  for (const BackendId id : {BackendId::Reference, BackendId::CpuFlash, BackendId::TorchSdpa}) {
    for (const auto& problem : problem_table()) {
      const auto made = make_problem(problem);
      const Status status = check_outputs(made->inputs, right_answer(made->inputs, id), 0);
      EXPECT_TRUE(status) << backend_name(id) << " " << problem.name << ": " << status.error().what;
    }
  }
}

TEST(Canary, PassesLargeLogits) {
  const auto made = make_problem(
      {"large", {1, 16, 24, 2, 2, 64, 64}, at::kFloat, Causal::None, MaskShape::None, Memory::Dense, 125.0});
  const Status status = check_outputs(made->inputs, right_answer(made->inputs), 0);
  EXPECT_TRUE(status) << status.error().what;
}

TEST(Canary, CatchesAKernelThatReturnsWithoutWriting) {
  for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    const auto made = make_problem({"dense", {1, 20, 9, 2, 2, 16, 16}, dtype});
    const AttentionOutputs outputs = allocate_outputs(made->inputs, true);
    poison(outputs);
    expect_caught(made->inputs, outputs, "unwritten");
  }
}

TEST(Canary, CatchesOneElementLeftUnwritten) {
  const auto made = make_problem({"dense", {1, 20, 9, 2, 2, 16, 16}});
  for (const bool in_lse : {false, true}) {
    const AttentionOutputs poisoned = allocate_outputs(made->inputs, true);
    poison(poisoned);
    const AttentionOutputs outputs = right_answer(made->inputs);
    const at::Tensor target = in_lse ? outputs.lse : outputs.out;
    target.flatten().narrow(0, 7, 1).copy_((in_lse ? poisoned.lse : poisoned.out).flatten().narrow(0, 7, 1));
    expect_caught(made->inputs, outputs, "unwritten");
  }
}

TEST(Canary, CatchesNanWhereverItStands) {
  const auto made = make_problem({"dense", {2, 50, 30, 3, 3, 16, 16}});
  const AttentionOutputs outputs = right_answer(made->inputs);
  outputs.out.select(0, 1).select(0, 17).select(0, 1).narrow(0, 3, 1).fill_(std::nan(""));
  expect_caught(made->inputs, outputs, "NaN");
}

TEST(Canary, CatchesWrongRowsAndWrongLse) {
  const auto made = make_problem({"dense", {1, 20, 30, 2, 2, 16, 16}});
  AttentionOutputs outputs = right_answer(made->inputs);
  outputs.out.mul_(0.9);
  expect_caught(made->inputs, outputs, "off by");
  outputs = right_answer(made->inputs);
  outputs.lse.add_(0.01);
  expect_caught(made->inputs, outputs, "LSE");
  outputs = right_answer(made->inputs);
  outputs.out.narrow(1, 13, 1).fill_(100.0);
  expect_caught(made->inputs, outputs, "although no value");
}

TEST(Canary, CatchesAnswersToAnotherProblem) {
  const auto causal = make_problem({"causal", {1, 20, 20, 2, 2, 16, 16}, at::kFloat, Causal::TopLeft});
  AttentionInputs without = causal->inputs;
  without.causal = Causal::None;
  expect_caught(causal->inputs, right_answer(without), "off by");
  const auto grouped = make_problem({"grouped", {1, 20, 20, 4, 2, 16, 16}});
  AttentionInputs swapped = grouped->inputs;
  swapped.key = swapped.key.flip({2});
  expect_caught(grouped->inputs, right_answer(swapped), "off by");
}

TEST(Canary, AcceptsNanThatTheInputsExplain) {
  const auto made = make_problem({"dense", {1, 20, 9, 2, 2, 16, 16}});
  made->inputs.query.narrow(1, 10, 1).fill_(std::nan(""));
  EXPECT_TRUE(check_outputs(made->inputs, right_answer(made->inputs), 0));
}

TEST(Canary, JudgesApproximateKernelsByTheirBound) {
  const auto made = make_problem({"dense", {1, 40, 40, 2, 2, 32, 32}});
  const AttentionOutputs outputs = right_answer(made->inputs);
  outputs.out.mul_(1.01);
  EXPECT_FALSE(check_outputs(made->inputs, outputs, 0));
  EXPECT_TRUE(check_outputs(made->inputs, outputs, 0.02));
  outputs.out.mul_(1.2);
  EXPECT_FALSE(check_outputs(made->inputs, outputs, 0.02));
}

TEST(Canary, AcceptsDenormalsFlushedToZero) {
  const auto made = make_problem({"dense", {1, 20, 9, 2, 2, 16, 16}});
  made->inputs.value = made->inputs.value * 1e-39;
  const AttentionOutputs outputs = right_answer(made->inputs, BackendId::Reference);
  outputs.out.zero_();
  EXPECT_TRUE(check_outputs(made->inputs, outputs, 0));
  EXPECT_TRUE(check_outputs(made->inputs, outputs, 0.02));
}

TEST(Canary, IsOnForKernelsOfOtherProjectsByDefault) {
  EXPECT_TRUE(canary_wanted(CanaryMode::Default, BackendId::SageAttn, false));
  EXPECT_FALSE(canary_wanted(CanaryMode::Default, BackendId::SageAttn, true));
  EXPECT_FALSE(canary_wanted(CanaryMode::Default, BackendId::CpuFlash, false));
  EXPECT_TRUE(canary_wanted(CanaryMode::First, BackendId::CpuFlash, false));
  EXPECT_TRUE(canary_wanted(CanaryMode::Always, BackendId::CpuFlash, true));
  EXPECT_FALSE(canary_wanted(CanaryMode::Off, BackendId::SageAttn, false));
  EXPECT_TRUE(parse_canary("always"));
  EXPECT_EQ(parse_canary("often").error().code, ErrorCode::Usage);
}

}  // namespace
}  // namespace tessera::attention
