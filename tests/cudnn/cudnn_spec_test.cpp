// From tensors to cuDNN's spec, and the refusals that come before any CUDA call; the tensors are on the CPU.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include "attention/backends/cuda_call.h"
#include "attention/backends/cudnn_sdpa.h"

namespace tessera::attention {
namespace {

AttentionInputs inputs(int64_t batch = 2) {
  const auto options = at::TensorOptions().dtype(at::kBFloat16);
  AttentionInputs in;
  in.query = at::zeros({batch, 32, 8, 64}, options);
  in.key = at::zeros({batch, 16, 4, 64}, options);
  in.value = at::zeros({batch, 16, 4, 64}, options);
  in.scale = 0.125;
  return in;
}

TEST(CudnnSpecOfTensors, TakesTheStridesAsTheyAre) {
  AttentionInputs in = inputs();
  const at::Tensor packed = at::zeros({2, 32, 3, 8, 64}, in.query.options());
  in.query = packed.select(2, 0);
  const auto spec = cudnn_spec(in, allocate_outputs(in, true));
  EXPECT_EQ(spec.q, (cudnn::Strides{32 * 3 * 512, 64, 3 * 512, 1}));
  EXPECT_EQ(spec.k, (cudnn::Strides{16 * 256, 64, 256, 1}));
  EXPECT_EQ(spec.heads_kv, 4);
  EXPECT_TRUE(spec.stats);
  EXPECT_EQ(spec.scale, 0.125);
  EXPECT_EQ(cudnn::refusal(spec, 91900), std::nullopt);
}

TEST(CudnnSpecOfTensors, EqualsThePolicysDenseSpecForDenseTensors) {
  const AttentionInputs in = inputs();
  AttentionProblem p;
  p.batch = 2, p.seq_q = 32, p.seq_kv = 16, p.heads_q = 8, p.heads_kv = 4, p.head_dim = p.value_dim = 64;
  EXPECT_EQ(cudnn_spec(in, allocate_outputs(in, false)), cudnn::spec_of(p));
}

TEST(CudnnSpecOfTensors, NamesTheTensorWhoseMemoryIsMisaligned) {
  AttentionInputs in = inputs();
  EXPECT_EQ(misaligned_memory(in, allocate_outputs(in, false)), std::nullopt);
  in.key = at::zeros({2 * 16 * 256 + 1}, in.key.options()).narrow(0, 1, 2 * 16 * 256).view({2, 16, 4, 64});
  EXPECT_EQ(misaligned_memory(in, allocate_outputs(in, false)),
            "the memory of the key does not begin at a multiple of 16 bytes");
}

TEST(CudnnBackend, OnTheCpuItIsUnsupportedNotAFault) {
  const AttentionInputs in = inputs();
  const auto status = CudnnSdpaBackend(nullptr).run(in, allocate_outputs(in, false), Quality::Exact);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
}

TEST(CudaCalls, EqualLengthsCutTheKeysInsteadOfMasking) {
  AttentionInputs in = inputs();
  const std::vector<int64_t> equal{5, 5}, mixed{5, 6}, empty{0, 0};
  in.mask = KeyLengths{equal};
  const AttentionInputs cut = without_equal_lengths(in);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cut.mask));
  EXPECT_EQ(cut.key.size(1), 5);
  EXPECT_TRUE(cut.key.is_alias_of(in.key));
  in.causal = Causal::BottomRight;
  EXPECT_EQ(without_equal_lengths(in).key.size(1), 16);
  in.causal = Causal::None;
  for (const auto& lengths : {mixed, empty}) {
    in.mask = KeyLengths{lengths};
    EXPECT_EQ(without_equal_lengths(in).key.size(1), 16);
  }
}

TEST(CudaCalls, LengthsForKernelsAreNeverZeroAndDeadRowsAreClearedAfterwards) {
  AttentionInputs in = inputs();
  const std::vector<int64_t> lengths{0, 7};
  in.mask = KeyLengths{lengths};
  EXPECT_TRUE(device_lengths({lengths}, at::kCPU).equal(at::arange(0, 2, at::kInt) * 6 + 1));
  const AttentionOutputs outputs = allocate_outputs(in, true);
  outputs.out.fill_(3);
  outputs.lse.fill_(3);
  clear_dead_rows(in, outputs);
  EXPECT_EQ(outputs.out.select(0, 0).abs().sum().item<float>(), 0);
  EXPECT_EQ(outputs.lse.select(0, 0).max().item<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(outputs.out.select(0, 1).min().item<float>(), 3);
}

TEST(CudaCalls, QueriesBeforeABottomRightCornerSeeNoKey) {
  AttentionInputs in = inputs(1);
  in.causal = Causal::BottomRight;  // 32 queries, 16 keys
  const AttentionOutputs outputs = allocate_outputs(in, false);
  outputs.out.fill_(3);
  clear_dead_rows(in, outputs);
  EXPECT_EQ(outputs.out.narrow(1, 0, 16).abs().sum().item<float>(), 0);
  EXPECT_EQ(outputs.out.narrow(1, 16, 16).min().item<float>(), 3);
}

}  // namespace
}  // namespace tessera::attention
