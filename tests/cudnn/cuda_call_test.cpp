// What the CUDA backends share, on CPU tensors: lengths, dead rows, alignment, and what a capture forbids.
#include "tensor/aten.h"

#include <gtest/gtest.h>

#include "attention/backends/cuda_call.h"
#include "tests/cudnn/inputs.h"

namespace tessera::attention {
namespace {

TEST(CudaCalls, EqualLengthsCutTheKeysInsteadOfMasking) {
  AttentionInputs in = inputs();
  const std::vector<int64_t> equal{5, 5}, mixed{5, 6}, empty{0, 0}, single{1, 1};
  in.mask = KeyLengths{equal};
  const AttentionInputs cut = without_equal_lengths(in);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cut.mask));
  EXPECT_EQ(cut.key.size(1), 5);
  EXPECT_TRUE(cut.key.is_alias_of(in.key));
  in.causal = Causal::BottomRight;
  EXPECT_EQ(without_equal_lengths(in).key.size(1), 16);
  EXPECT_TRUE(std::holds_alternative<KeyLengths>(without_equal_lengths(in).mask));
  const std::vector<int64_t> all{16, 16};
  in.mask = KeyLengths{all};
  EXPECT_TRUE(std::holds_alternative<std::monostate>(without_equal_lengths(in).mask));
  in.causal = Causal::None;
  for (const auto& lengths : {mixed, empty, single}) {
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

TEST(CudaCalls, KeptLengthsAreCopiedOnceAndNotDuringACapture) {
  LengthsCache cache;
  const std::vector<int64_t> first{5, 0}, other{5, 1};
  const auto copied = cache.on({first}, at::kCPU, false);
  ASSERT_TRUE(copied);
  EXPECT_TRUE(copied->equal(device_lengths({first}, at::kCPU)));
  const auto again = cache.on({first}, at::kCPU, true);
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(again->const_data_ptr(), copied->const_data_ptr());
  const auto fresh = cache.on({other}, at::kCPU, true);
  ASSERT_FALSE(fresh);
  EXPECT_EQ(fresh.error().code, ErrorCode::Misuse) << "must not be latched: outside of the capture it is served";
}

TEST(CudaCalls, NamesTheFirstByteOrStrideThatIsNoMultipleOf16Bytes) {
  const auto options = at::TensorOptions().dtype(at::kBFloat16);
  const at::Tensor wide = at::zeros({2, 4, 3, 72}, options);
  EXPECT_EQ(misaligned_rows("key", wide.narrow(3, 8, 64)), std::nullopt);
  EXPECT_EQ(misaligned_rows("key", wide.narrow(3, 4, 64)),
            "the memory of the key does not begin at a multiple of 16 bytes");
  const at::Tensor odd = at::zeros({2, 4, 3, 68}, options).narrow(3, 0, 64);
  EXPECT_EQ(misaligned_rows("key", odd), "a stride of the key is 408 bytes, not a multiple of 16");
  EXPECT_EQ(misaligned_rows("key", odd.narrow(0, 0, 1).narrow(1, 0, 1).narrow(2, 0, 1)), std::nullopt)
      << "strides that are never multiplied do not matter";
}

TEST(CudaCalls, OnlyAGpuNeedsACopyOfMisalignedRows) {
  const at::Tensor odd = at::zeros({2, 4, 3, 68}, at::TensorOptions().dtype(at::kBFloat16)).narrow(3, 0, 64);
  EXPECT_TRUE(aligned_or_copied(odd).is_same(odd));
  const at::Tensor far = at::empty_strided(odd.sizes(), odd.strides(), odd.options().device(at::kMeta));
  EXPECT_TRUE(aligned_or_copied(far).is_contiguous());
  EXPECT_EQ(misaligned_rows("copy", aligned_or_copied(far)), std::nullopt);
}

TEST(CudaCalls, NothingIsCapturedOnACpu) {
  EXPECT_FALSE(is_capturing(at::zeros({1})));
  EXPECT_EQ(not_in_capture("a plan").error().code, ErrorCode::Misuse);
}

}  // namespace
}  // namespace tessera::attention
