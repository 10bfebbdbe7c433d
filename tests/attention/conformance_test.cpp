// Every backend of this build, on every instruction set of this machine, against one table of problems.
#include "tests/attention/problems.h"

#include <gtest/gtest.h>

#include "attention/backends/factory.h"
#include "attention/guard.h"

namespace tessera::attention {
namespace {

struct Path {
  BackendId id;
  kernels::Isa isa;
  std::string name() const { return std::string(backend_name(id)) + "_" + std::string(kernels::isa_name(isa)); }
};

std::vector<Path> exact_paths() {
  std::vector<Path> paths;
  for (const BackendId id : built_backends()) {
    if (id == BackendId::CpuSage) continue;  // approximate: has a test of its own
    for (const kernels::Isa isa : isa_paths(id)) paths.push_back({id, isa});
  }
  return paths;
}

/// Runs with buffers full of NaN, so that nothing right can be left over.
Status run_path(const Path& path, const AttentionInputs& inputs, const AttentionOutputs& outputs,
                Quality tier = Quality::Exact) {
  outputs.out.fill_(std::numeric_limits<double>::quiet_NaN());
  if (outputs.lse.defined()) outputs.lse.fill_(std::numeric_limits<double>::quiet_NaN());
  const auto backend = make_backend(path.id, path.isa);
  return guarded(path.name(), [&] { return backend->run(inputs, outputs, tier); });
}

class EveryPath : public testing::TestWithParam<Path> {};

TEST_P(EveryPath, EqualsTheReferenceOnEveryProblem) {
  for (const auto& problem : problem_table()) {
    const auto made = make_problem(problem);
    ASSERT_TRUE(validate(made->inputs)) << problem.name;
    const auto want = reference_answer(made->inputs);
    for (const bool needs_lse : {false, true}) {
      const AttentionOutputs outputs = allocate_outputs(made->inputs, needs_lse);
      const Status done = run_path(GetParam(), made->inputs, outputs);
      ASSERT_TRUE(done) << problem.name << ": " << done.error().line();
      const Deviation d = deviation(outputs, want);
      EXPECT_LE(d.out, out_tolerance(problem.dtype)) << problem.name;
      EXPECT_LE(d.lse, lse_tolerance(problem.dtype)) << problem.name;
    }
  }
}

TEST_P(EveryPath, TakesMasksWithPackedSequencesOrRefusesThem) {
  for (const auto& problem : masked_packed_table()) {
    const auto made = make_problem(problem);
    const AttentionOutputs outputs = allocate_outputs(made->inputs, true);
    const Status done = run_path(GetParam(), made->inputs, outputs);
    const bool kernel = GetParam().id == BackendId::CpuFlash;
    ASSERT_EQ(done.has_value(), !kernel) << problem.name;
    if (kernel) {
      EXPECT_EQ(done.error().code, ErrorCode::Unsupported);
    } else {
      const Deviation d = deviation(outputs, reference_answer(made->inputs));
      EXPECT_LE(d.out, out_tolerance(problem.dtype)) << problem.name;
      EXPECT_LE(d.lse, lse_tolerance(problem.dtype)) << problem.name;
    }
  }
}

TEST_P(EveryPath, LeavesItsInputsAsTheyWere) {
  for (const auto& problem : problem_table()) {
    const auto made = make_problem(problem);
    const at::Tensor query = made->inputs.query.clone(), key = made->inputs.key.clone(),
                     value = made->inputs.value.clone();
    ASSERT_TRUE(run_path(GetParam(), made->inputs, allocate_outputs(made->inputs, true)));
    EXPECT_TRUE(made->inputs.query.equal(query) && made->inputs.key.equal(key) && made->inputs.value.equal(value))
        << problem.name;
  }
}

TEST_P(EveryPath, KeepsNanAndInfinityOfExcludedKeysOutOfTheResult) {
  using enum MaskShape;
  const Problem problems[] = {
      {"lengths", {3, 12, 70, 2, 2, 32, 32}, at::kFloat, Causal::None, Lengths},
      {"causal", {1, 40, 40, 2, 2, 32, 32}, at::kFloat, Causal::TopLeft},
      {"boolean", {2, 13, 40, 2, 2, 32, 32}, at::kFloat, Causal::None, BoolPlane},
      {"dead rows", {2, 13, 40, 2, 2, 32, 32}, at::kFloat, Causal::None, BoolDead},
      {"additive", {1, 18, 40, 2, 2, 32, 32}, at::kFloat, Causal::None, AddInf},
  };
  for (const auto& problem : problems) {
    for (const double poison : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      const auto made = make_problem(problem);
      made->inputs.value.select(1, problem.sizes.seq_kv - 1).fill_(poison);
      made->inputs.key.select(1, problem.sizes.seq_kv - 1).fill_(poison);
      const auto want = reference_answer(made->inputs);
      const AttentionOutputs outputs = allocate_outputs(made->inputs, true);
      ASSERT_TRUE(run_path(GetParam(), made->inputs, outputs));
      const at::Tensor out = outputs.out.to(at::kDouble).contiguous();
      for (int64_t i = 0; i < out.numel(); ++i) {
        const double expected = want.out[static_cast<size_t>(i)];
        if (!std::isfinite(expected)) continue;
        ASSERT_NEAR(out.const_data_ptr<double>()[i], expected, 1e-5) << problem.name << " element " << i;
      }
    }
  }
}

TEST_P(EveryPath, ShowsNanThatTakesPart) {
  for (const int which : {0, 1, 2}) {
    const auto made = make_problem({"dense", {1, 33, 70, 2, 2, 32, 32}});
    at::Tensor& tensor = which == 0 ? made->inputs.query : which == 1 ? made->inputs.key : made->inputs.value;
    tensor.select(1, 5).select(1, 1).select(1, 7).fill_(std::numeric_limits<double>::quiet_NaN());
    const auto want = reference_answer(made->inputs);
    const AttentionOutputs outputs = allocate_outputs(made->inputs, true);
    ASSERT_TRUE(run_path(GetParam(), made->inputs, outputs));
    for (int64_t i = 0; i < outputs.out.numel(); ++i) {
      const float got = outputs.out.const_data_ptr<float>()[i];
      ASSERT_EQ(std::isnan(got), std::isnan(want.out[static_cast<size_t>(i)]))
          << "tensor " << which << " element " << i;
    }
  }
}

TEST_P(EveryPath, WritesIntoViewsOfLargerBuffers) {
  const auto made = make_problem({"dense", {2, 33, 21, 2, 2, 32, 32}});
  const at::Tensor buffer = at::full({2, 33, 3, 40}, 7.0F);
  const AttentionOutputs outputs = {buffer.narrow(2, 1, 2).narrow(3, 4, 32), {}};
  ASSERT_TRUE(run_path(GetParam(), made->inputs, outputs));
  EXPECT_LE(deviation(outputs, reference_answer(made->inputs)).out, 1e-5);
  EXPECT_TRUE((buffer.select(2, 0) == 7).all().item<bool>()) << "wrote outside of its output";
  EXPECT_TRUE((buffer.narrow(3, 0, 4) == 7).all().item<bool>()) << "wrote outside of its output";
  EXPECT_TRUE((buffer.narrow(3, 36, 4) == 7).all().item<bool>()) << "wrote outside of its output";
}

INSTANTIATE_TEST_SUITE_P(Attention, EveryPath, testing::ValuesIn(exact_paths()),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace tessera::attention
