// What the engine adds to a kernel on a call whose decision is known: the backend here does nothing at all.
#include "tensor/aten.h"

#include <benchmark/benchmark.h>

#include "attention/engine.h"

namespace tessera::attention {
namespace {

class Nothing : public AttentionBackend {
 public:
  Status run(const AttentionInputs&, const AttentionOutputs&, Quality) override { return {}; }
};

std::unique_ptr<AttentionEngine> empty_engine() {
  EngineOptions options;
  options.device.kind = platform::DeviceKind::Cpu;
  BackendMap backends;
  backends.emplace(BackendId::CpuFlash, std::make_unique<Nothing>());
  return std::make_unique<AttentionEngine>(std::move(options), std::move(backends));
}

AttentionInputs some_inputs(int64_t seq) {
  AttentionInputs inputs;
  inputs.query = at::zeros({1, seq, 4, 64});
  inputs.key = at::zeros({1, seq, 4, 64});
  inputs.value = at::zeros({1, seq, 4, 64});
  inputs.scale = 0.125;
  return inputs;
}

/// Decision and dispatch alone: the buffers are the caller's. The engine knows some 50 other kinds of calls.
void dispatch(benchmark::State& state) {
  static const auto engine = empty_engine();
  for (int64_t seq = 1; seq < 50; ++seq) (void)engine->run(some_inputs(seq), {"transformer", Role::Self});
  const auto inputs = some_inputs(256);
  const auto outputs = allocate_outputs(inputs, false);
  for (auto _ : state) {
    if (!engine->run_into(inputs, {"transformer", Role::Self}, outputs)) state.SkipWithError("no backend");
  }
}
BENCHMARK(dispatch);
BENCHMARK(dispatch)->Threads(2);

/// What every attention function does: make its output.
void allocation(benchmark::State& state) {
  const auto inputs = some_inputs(256);
  for (auto _ : state) benchmark::DoNotOptimize(allocate_outputs(inputs, false));
}
BENCHMARK(allocation);

/// Both, as models call it.
void dispatch_and_allocation(benchmark::State& state) {
  const auto engine = empty_engine();
  const auto inputs = some_inputs(256);
  for (auto _ : state) benchmark::DoNotOptimize(engine->run(inputs, {"transformer", Role::Self}));
}
BENCHMARK(dispatch_and_allocation);

}  // namespace
}  // namespace tessera::attention
