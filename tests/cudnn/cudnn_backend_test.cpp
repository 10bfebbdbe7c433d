// What surrounds the routes to cuDNN, with a route that computes on the CPU what the kernels would: masks made
// additive, guards, lengths that are never 0, and rows without keys, which the kernels leave as NaN.
#include "attention/backends/cudnn_sdpa.h"

#include <gtest/gtest.h>

#include <limits>

#include "attention/backends/cuda_call.h"
#include "attention/backends/reference.h"
#include "tests/attention/problems.h"

namespace tessera::attention {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What the kernels promise and no more: no bool mask, no unaligned row, lengths from 1 on, NaN where no key is seen.
class FakeRoute : public CudnnRoute {
 public:
  explicit FakeRoute(int64_t* calls) : calls_(calls) {}

  Status run(const AttentionInputs& in, const AttentionOutputs& outputs) override {
    ++*calls_;
    EXPECT_FALSE(std::holds_alternative<BoolMask>(in.mask));
    EXPECT_EQ(cudnn::refusal(cudnn_spec(in, outputs), 91900), std::nullopt);
    EXPECT_TRUE(cudnn::aligned(outputs.out.const_data_ptr()));
    EXPECT_TRUE(!outputs.lse.defined() ||
                (outputs.lse.is_contiguous() && cudnn::aligned(outputs.lse.const_data_ptr())));
    AttentionInputs given = in;
    std::vector<int64_t> lengths;
    if (const auto* rows = std::get_if<KeyLengths>(&in.mask)) {
      const at::Tensor used = device_lengths(*rows, at::kCPU).to(at::kLong);
      lengths.assign(used.const_data_ptr<int64_t>(), used.const_data_ptr<int64_t>() + used.numel());
      given.mask = KeyLengths{lengths};
    }
    if (const auto* mask = std::get_if<AdditiveMask>(&in.mask)) {
      given.mask = AdditiveMask{expand_mask(mask->bias, sizes_of(in)).value()};
    }
    TESSERA_TRY_OK(ReferenceBackend().run(given, outputs, Quality::Exact));
    const AttentionOutputs seen = allocate_outputs(given, true);
    TESSERA_TRY_OK(ReferenceBackend().run(given, seen, Quality::Exact));
    const at::Tensor dead = at::isfinite(seen.lse).logical_not();  // [B, H, Sq]
    outputs.out.masked_fill_(dead.transpose(1, 2).unsqueeze(-1), kNan);
    if (outputs.lse.defined()) outputs.lse.masked_fill_(dead, kNan);
    return {};
  }

 private:
  int64_t* calls_;
};

TEST(CudnnBackend, EveryProblemIsRefusedOrComesOutRight) {
  int64_t calls = 0, served = 0, packed_with_lse = 0;
  CudnnSdpaBackend backend(std::make_unique<FakeRoute>(&calls));
  for (Problem problem : problem_table()) {
    if (problem.sizes.seq_kv > 200) continue;  // the plain reference takes seconds for it
    problem.dtype = at::kHalf;
    const auto made = make_problem(problem);
    for (const bool lse : {false, true}) {
      const AttentionOutputs outputs = allocate_outputs(made->inputs, lse);
      outputs.out.fill_(kNan);
      const int64_t before = calls;
      const Status done = backend.run(made->inputs, outputs, Quality::Exact);
      if (!done) {
        EXPECT_EQ(done.error().code, ErrorCode::Unsupported) << problem.name << ": " << done.error().line();
        continue;
      }
      served += made->inputs.packed ? 0 : 1;  // packed sequences are one call each
      packed_with_lse += made->inputs.packed && lse ? 1 : 0;
      calls -= made->inputs.packed ? calls - before : 0;
      const Deviation d = deviation(outputs, reference_answer(made->inputs));
      EXPECT_LE(d.out, out_tolerance(at::kHalf)) << problem.name;
      // The mask travels as fp16: 11 bits of values of about 4.
      EXPECT_LE(d.lse, 4e-3) << problem.name;
    }
  }
  EXPECT_EQ(calls, served);
  EXPECT_GE(served, 2 * 30) << "a guard refuses what the kernels take";
  EXPECT_GE(packed_with_lse, 1) << "a sequence's part of the LSE is not dense: it needs memory of its own";
}

TEST(CudnnBackend, AnOutputInBetweenMultiplesOf16BytesIsWrittenBesideAndCopied) {
  int64_t calls = 0;
  const auto made = make_problem({"fp16", {1, 40, 40, 2, 2, 64, 64}, at::kHalf});
  AttentionOutputs outputs = allocate_outputs(made->inputs, true);
  const at::Tensor room = at::zeros({outputs.out.numel() + 1}, outputs.out.options());
  outputs.out = room.narrow(0, 1, outputs.out.numel()).view(outputs.out.sizes());
  ASSERT_TRUE(CudnnSdpaBackend(std::make_unique<FakeRoute>(&calls)).run(made->inputs, outputs, Quality::Exact));
  EXPECT_EQ(calls, 1);
  EXPECT_LE(deviation(outputs, reference_answer(made->inputs)).out, out_tolerance(at::kHalf));
}

TEST(CudnnBackend, TheRouteIsNotAskedForWhatTheGuardsRefuse) {
  int64_t calls = 0;
  CudnnSdpaBackend backend(std::make_unique<FakeRoute>(&calls));
  const auto made = make_problem({"head size 72 of fp32", {1, 20, 20, 2, 2, 72, 72}});
  const auto done = backend.run(made->inputs, allocate_outputs(made->inputs, false), Quality::Exact);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(calls, 0);
}

/// A process without cuDNN, or one whose device fails.
class FailingRoute : public CudnnRoute {
 public:
  explicit FailingRoute(ErrorCode code) : code_(code) {}
  Status run(const AttentionInputs&, const AttentionOutputs&) override { return fail(code_, "fake"); }

 private:
  ErrorCode code_;
};

TEST(CudnnBackend, OnlyAMissingCudnnLeadsToLibTorchsRoute) {
  const auto made = make_problem({"fp16", {1, 40, 40, 2, 2, 64, 64}, at::kHalf});
  const AttentionOutputs outputs = allocate_outputs(made->inputs, false);
  for (const ErrorCode code : {ErrorCode::DeviceFault, ErrorCode::OutOfMemory, ErrorCode::Misuse, ErrorCode::Bug}) {
    const auto done = CudnnSdpaBackend(std::make_unique<FailingRoute>(code)).run(made->inputs, outputs, Quality::Exact);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, code);
  }
  const auto done = CudnnSdpaBackend(std::make_unique<FailingRoute>(ErrorCode::Unavailable))
                        .run(made->inputs, outputs, Quality::Exact);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Unsupported) << "LibTorch's route refuses CPU tensors";
}

}  // namespace
}  // namespace tessera::attention
