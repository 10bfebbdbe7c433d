// External FlashAttention: found by its registered operator, called by the names in its schema. The operator of the
// tests stands in for the library.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include <torch/library.h>

#include "attention/backends/flash.h"
#include "attention/backends/operator_call.h"
#include "attention/backends/reference.h"
#include "attention/guard.h"
#include "tests/attention/problems.h"

namespace tessera::attention {
namespace {

std::tuple<at::Tensor, at::Tensor> stand_in(const at::Tensor& q, const at::Tensor& k,
                                            const std::optional<at::Tensor>& seqused_k, double softmax_scale,
                                            bool causal, int64_t num_splits) {
  return {q * softmax_scale + static_cast<double>(num_splits), k * (causal ? 2 : 1) + (seqused_k ? 100 : 0)};
}

TORCH_LIBRARY(tessera_test_flash, m) {
  m.def(
      "fwd(Tensor q, Tensor k, Tensor? seqused_k=None, float softmax_scale=1.0, bool causal=False, "
      "int num_splits=7) -> (Tensor, Tensor)",
      stand_in);
  m.def("needs_more(Tensor q, Tensor page_table) -> Tensor", [](const at::Tensor& q, const at::Tensor&) { return q; });
}

TEST(OperatorCall, FillsArgumentsByNameAndTheRestByDefault) {
  const at::Tensor one = at::ones({2});
  const auto results = call_operator("tessera_test_flash::fwd",
                                     {{"q", one}, {"k", one}, {"v", one}, {"softmax_scale", 0.5}, {"causal", true}});
  ASSERT_TRUE(results) << results.error().line();
  ASSERT_EQ(results->size(), 2u);
  EXPECT_TRUE((*results)[0].toTensor().equal(one * 7.5));
  EXPECT_TRUE((*results)[1].toTensor().equal(one * 2));
}

TEST(OperatorCall, AnArgumentThatNobodyKnowsIsNamed) {
  const auto results = call_operator("tessera_test_flash::needs_more", {{"q", at::ones({2})}});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, ErrorCode::Unavailable);
  EXPECT_NE(results.error().what.find("'page_table'"), std::string::npos) << results.error().line();
}

TEST(OperatorCall, AnOperatorThatIsNotThereIsUnavailable) {
  EXPECT_FALSE(has_operator("tessera_test_flash::bwd"));
  EXPECT_EQ(call_operator("tessera_test_flash::bwd", {}).error().code, ErrorCode::Unavailable);
}

TEST(FlashOperator, AMissingLibraryIsRefusedWithAHowTo) {
  for (const BackendId id : {BackendId::Fa3, BackendId::Fa4}) {
    const auto found = flash_operator(id);
    if (found) GTEST_SKIP() << "this machine has " << *found;
    EXPECT_EQ(found.error().code, ErrorCode::Unavailable);
    EXPECT_FALSE(found.error().hint.empty());
    EXPECT_NE(found.error().what.find(backend_name(id)), std::string::npos) << found.error().line();
  }
}

/// FlashAttention's own semantics on the CPU: a causal triangle that ends at each row's last key, which is read from
/// seqused_k, and NaN in rows that see no key.
std::tuple<at::Tensor, at::Tensor> flash_on_the_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                    const std::optional<at::Tensor>& seqused_k,
                                                    std::optional<double> softmax_scale, bool is_causal) {
  AttentionInputs in{q, k, v, {}, is_causal ? Causal::BottomRight : Causal::None, softmax_scale.value()};
  const AttentionOutputs all = allocate_outputs(in, true);
  for (int64_t row = 0; row < q.size(0); ++row) {
    const int64_t keys = seqused_k ? seqused_k->select(0, row).item<int>() : k.size(1);
    EXPECT_GT(keys, 0) << "a length of 0 must not reach a kernel";
    AttentionInputs one = in;
    one.query = q.narrow(0, row, 1);
    one.key = k.narrow(0, row, 1).narrow(1, 0, keys), one.value = v.narrow(0, row, 1).narrow(1, 0, keys);
    const AttentionOutputs part{all.out.narrow(0, row, 1), all.lse.narrow(0, row, 1)};
    EXPECT_TRUE(ReferenceBackend().run(one, part, Quality::Exact));
  }
  const at::Tensor dead = at::isfinite(all.lse).logical_not();
  all.out.masked_fill_(dead.transpose(1, 2).unsqueeze(-1), std::numeric_limits<double>::quiet_NaN());
  return {all.out, at::constant_pad_nd(all.lse, {0, 3})};  // some versions pad the rows of the LSE
}

TEST(FlashOperator, EveryProblemIsRefusedOrComesOutRight) {
  if (has_operator("flash_attn_3::fwd")) GTEST_SKIP() << "this process has the real one";
  torch::Library library(torch::Library::DEF, "flash_attn_3", std::nullopt, __FILE__, __LINE__);
  library.def(
      "fwd(Tensor q, Tensor k, Tensor v, Tensor? seqused_k=None, float? softmax_scale=None, "
      "bool is_causal=False) -> (Tensor, Tensor)",
      flash_on_the_cpu);
  int64_t served = 0;
  FlashOperatorBackend backend(BackendId::Fa3);
  for (Problem problem : problem_table()) {
    if (problem.sizes.seq_kv > 200) continue;  // the plain reference takes seconds for it
    problem.dtype = at::kHalf;
    const auto made = make_problem(problem);
    const AttentionOutputs outputs = allocate_outputs(made->inputs, true);
    const Status done = backend.run(made->inputs, outputs, Quality::Exact);
    if (!done) {
      EXPECT_EQ(done.error().code, ErrorCode::Unsupported) << problem.name << ": " << done.error().line();
      continue;
    }
    ++served;
    const Deviation d = deviation(outputs, reference_answer(made->inputs));
    EXPECT_LE(d.out, out_tolerance(at::kHalf)) << problem.name;
    EXPECT_LE(d.lse, lse_tolerance(at::kHalf)) << problem.name;
  }
  EXPECT_GE(served, 20);
}

TEST(FlashOperator, WithoutAKernelForTheDeviceItIsUnsupported) {
  if (has_operator("flash_attn_4::fwd")) GTEST_SKIP() << "this process has the real one";
  torch::Library library(torch::Library::DEF, "flash_attn_4", std::nullopt, __FILE__, __LINE__);
  library.def("fwd(Tensor q, Tensor k, Tensor v) -> (Tensor, Tensor)");
  const auto made = make_problem({"fp16", {1, 16, 16, 2, 2, 64, 64}, at::kHalf});
  FlashOperatorBackend backend(BackendId::Fa4);
  const auto done =
      guarded("fa4", [&] { return backend.run(made->inputs, allocate_outputs(made->inputs, false), Quality::Exact); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Unsupported) << done.error().line();
}

TEST(FlashAttention, EachRefusalHasItsOwnReason) {
  using enum MaskShape;
  const struct {
    Problem problem;
    const char* reason;
  } cases[] = {
      {{"causal wide", {1, 10, 33, 2, 2, 32, 32}, at::kHalf, Causal::TopLeft}, "bottom right corner"},
      {{"boolean", {1, 10, 33, 2, 2, 32, 32}, at::kHalf, Causal::None, BoolPlane}, "no dense mask"},
      {{"additive", {1, 10, 33, 2, 2, 32, 32}, at::kHalf, Causal::None, AddInf}, "no dense mask"},
      {{"causal lengths", {3, 19, 19, 2, 2, 32, 32}, at::kHalf, Causal::TopLeft, Lengths}, "each row's last key"},
      {{"corner lengths", {3, 19, 25, 2, 2, 32, 32}, at::kHalf, Causal::BottomRight, Lengths}, "each row's last key"},
      {{"head size 20", {1, 9, 9, 3, 3, 20, 20}, at::kHalf}, "a stride of the query is"},
  };
  for (const auto& c : cases) {
    const auto made = make_problem(c.problem);
    const auto refusal = flash_refusal(made->inputs);
    ASSERT_TRUE(refusal) << c.problem.name;
    EXPECT_EQ(refusal->code, ErrorCode::Unsupported);
    EXPECT_NE(refusal->what.find(c.reason), std::string::npos) << refusal->line();
  }
  EXPECT_FALSE(flash_refusal(make_problem({"plain", {1, 9, 9, 3, 3, 32, 32}, at::kHalf})->inputs));
}

}  // namespace
}  // namespace tessera::attention
