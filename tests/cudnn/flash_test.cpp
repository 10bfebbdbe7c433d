// External FlashAttention: found by its registered operator, called by the names in its schema. The operator of the
// tests stands in for the library.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include <torch/library.h>

#include "attention/backends/flash.h"
#include "attention/backends/operator_call.h"

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

}  // namespace
}  // namespace tessera::attention
