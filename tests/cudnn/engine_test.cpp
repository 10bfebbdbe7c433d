// Calls of one shape whose data differ: what a CUDA kernel refuses in one of them must not be lost to the others.
#include "attention/engine.h"

#include <gtest/gtest.h>

#include "attention/backends/cudnn_sdpa.h"
#include "attention/backends/factory.h"
#include "attention/backends/flash.h"
#include "attention/backends/reference.h"
#include "platform/presets.h"
#include "tests/attention/problems.h"

namespace tessera::attention {
namespace {

constexpr CallSite kSite = {"transformer", Role::Self};

/// cuDNN's kernels, computed on the CPU; what stands before them is the real thing.
class CpuRoute : public CudnnRoute {
 public:
  Status run(const AttentionInputs& in, const AttentionOutputs& outputs) override {
    return ReferenceBackend().run(in, outputs, Quality::Exact);
  }
};

/// FlashAttention's guard before the reference.
class CpuFlashAttention : public AttentionBackend {
 public:
  Status run(const AttentionInputs& in, const AttentionOutputs& outputs, Quality tier) override {
    if (auto refusal = flash_refusal(in)) return fail(std::move(*refusal));
    return ReferenceBackend().run(in, outputs, tier);
  }
};

/// An engine on a pretended H100 that is asked for `id`, with LibTorch's attention to fall back on.
std::unique_ptr<AttentionEngine> engine_for(BackendId id, Demand demand) {
  EngineOptions options;
  options.device = platform::preset("h100").value();
  options.device.simulated = false;
  options.selections.base.server = choose(id, demand);
  BackendMap backends;
  if (id == BackendId::TorchCudnnSdpa) {
    backends.emplace(id, std::make_unique<CudnnSdpaBackend>(std::make_unique<CpuRoute>()));
  } else {
    backends.emplace(id, std::make_unique<CpuFlashAttention>());
  }
  backends.emplace(BackendId::TorchSdpa, make_backend(BackendId::TorchSdpa));
  return std::make_unique<AttentionEngine>(std::move(options), std::move(backends));
}

void expect_served(AttentionEngine& engine, const AttentionInputs& in, std::string_view by) {
  const auto outputs = engine.run(in, kSite);
  ASSERT_TRUE(outputs) << outputs.error().line();
  EXPECT_LE(deviation(*outputs, reference_answer(in)).out, out_tolerance(at::kHalf));
  const auto report = engine.report();
  EXPECT_EQ(report.back().backend, by);
  for (const SiteReport& row : report) {
    for (const Refusal& refusal : row.refused) {
      EXPECT_NE(refusal.reason, Reason::FailedBefore) << refusal.text;
      EXPECT_NE(refusal.reason, Reason::Quarantined) << refusal.text;
    }
  }
}

AttentionInputs misaligned(const AttentionInputs& from) {
  AttentionInputs in = from;
  const at::Tensor room = at::zeros({in.key.numel() + 1}, in.key.options());
  in.key = room.narrow(0, 1, in.key.numel()).view(in.key.sizes()).copy_(from.key);
  return in;
}

TEST(EngineOnGpus, AMisalignedCallLeavesTheAlignedOnesOfItsShapeAlone) {
  const auto made = make_problem({"fp16", {1, 40, 40, 2, 2, 64, 64}, at::kHalf});
  const AttentionInputs odd = misaligned(made->inputs);
  for (const BackendId id : {BackendId::TorchCudnnSdpa, BackendId::Fa3}) {
    const auto engine = engine_for(id, Demand::Prefer);
    expect_served(*engine, odd, "torch_sdpa");
    const auto refused = engine->report().back().refused;
    const auto why = std::ranges::find(refused, id, &Refusal::backend);
    ASSERT_NE(why, refused.end());
    EXPECT_EQ(why->reason, Reason::Alignment) << why->text;
    expect_served(*engine, made->inputs, backend_name(id));
    ASSERT_TRUE(engine->run(odd, kSite));
    EXPECT_EQ(engine->report().size(), 2U);
  }
}

TEST(EngineOnGpus, AStrictChoiceSaysThatTheMemoryIsMisaligned) {
  const auto made = make_problem({"fp16", {1, 40, 40, 2, 2, 64, 64}, at::kHalf});
  const auto engine = engine_for(BackendId::TorchCudnnSdpa, Demand::Strict);
  const auto outputs = engine->run(misaligned(made->inputs), kSite);
  ASSERT_FALSE(outputs);
  EXPECT_NE(outputs.error().line().find("16 bytes"), std::string::npos) << outputs.error().line();
  EXPECT_TRUE(engine->run(made->inputs, kSite));
}

TEST(EngineOnGpus, ASequenceThatCudnnRefusesLeavesOtherPackedCallsAlone) {
  const auto made = make_problem({"fp16", {1, 40, 60, 2, 2, 64, 64}, at::kHalf});
  AttentionInputs in = made->inputs;
  const std::vector<int64_t> queries = {0, 15, 40}, single = {0, 1, 60}, fewer = {0, 14, 60}, good = {0, 16, 60};
  const std::pair<Causal, const std::vector<int64_t>&> cases[] = {{Causal::None, single}, {Causal::BottomRight, fewer}};
  for (const auto& [causal, keys] : cases) {
    const auto engine = engine_for(BackendId::TorchCudnnSdpa, Demand::Prefer);
    in.causal = causal;
    in.packed = Packed{queries, keys};
    expect_served(*engine, in, "torch_sdpa");
    in.packed = Packed{queries, good};
    expect_served(*engine, in, "torch_cudnn_sdpa");
  }
}

TEST(EngineOnGpus, RowsOfASingleKeyLeaveOtherLengthsAlone) {
  const auto made = make_problem({"fp16", {2, 40, 40, 2, 2, 64, 64}, at::kHalf});
  const std::vector<int64_t> single = {1, 1}, some = {9, 9}, unequal = {9, 1};
  const auto engine = engine_for(BackendId::TorchCudnnSdpa, Demand::Prefer);
  for (const auto& lengths : {single, some, unequal}) {
    AttentionInputs in = made->inputs;
    in.mask = KeyLengths{lengths};
    expect_served(*engine, in, "torch_cudnn_sdpa");
  }
}

}  // namespace
}  // namespace tessera::attention
