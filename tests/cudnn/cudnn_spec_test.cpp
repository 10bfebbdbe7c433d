// From tensors to cuDNN's spec, and the refusals that come before any CUDA call; the tensors are on the CPU.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include "attention/backends/cuda_call.h"
#include "attention/backends/cudnn_sdpa.h"
#include "tests/cudnn/inputs.h"

namespace tessera::attention {
namespace {

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
  EXPECT_EQ(misaligned_memory(in), std::nullopt);
  in.key = at::zeros({2 * 16 * 256 + 1}, in.key.options()).narrow(0, 1, 2 * 16 * 256).view({2, 16, 4, 64});
  EXPECT_EQ(misaligned_memory(in), "the memory of the key does not begin at a multiple of 16 bytes");
}

TEST(CudnnSpecOfTensors, LooksAtTheMaskToo) {
  AttentionInputs in = inputs();
  in.mask = AdditiveMask{at::zeros({2 * 8 * 32 * 16 + 1}, in.query.options()).narrow(0, 1, 8192).view({2, 8, 32, 16})};
  EXPECT_EQ(misaligned_memory(in), "the memory of the mask does not begin at a multiple of 16 bytes");
}

TEST(CudnnBackend, OnTheCpuItIsUnsupportedNotAFault) {
  const AttentionInputs in = inputs();
  const auto status = CudnnSdpaBackend(nullptr).run(in, allocate_outputs(in, false), Quality::Exact);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace tessera::attention
