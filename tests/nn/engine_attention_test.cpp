// Attention of the models through the engine, for every combination of rules that a call can state.
#include "nn/attention.h"

#include <gtest/gtest.h>

#include "attention/engine.h"
#include "base/check.h"

namespace tessera::nn {
namespace {

std::unique_ptr<attention::AttentionEngine> engine_with(attention::BackendId id) {
  attention::EngineOptions options;
  options.device.kind = platform::DeviceKind::Cpu;
  options.selections.base.server = attention::choose(id, attention::Demand::Strict);
  return attention::make_engine(std::move(options));
}

/// The bits of `rules`: causal, key lengths, boolean mask, additive mask, scale.
AttentionCall call_with(int rules) {
  AttentionCall call = {.query = at::randn({2, 5, 4, 8}, at::TensorOptions().dtype(at::kFloat)),
                        .key = at::randn({2, 7, 2, 8}, at::TensorOptions().dtype(at::kFloat)),
                        .value = at::randn({2, 7, 2, 8}, at::TensorOptions().dtype(at::kFloat)),
                        .key_lengths = {},
                        .bool_mask = {},
                        .additive_mask = {},
                        .scale = {}};
  call.causal = (rules & 1) != 0;
  if ((rules & 2) != 0) call.key_lengths = {{3, 7}};
  if ((rules & 4) != 0) call.bool_mask = at::randn({1, 1, 5, 7}) < 0.5;
  if ((rules & 8) != 0) call.additive_mask = at::randn({1, 4, 5, 7});
  if ((rules & 16) != 0) call.scale = 0.7;
  return call;
}

TEST(EngineAttention, EqualsThePlainPathForEveryCombinationOfRules) {
  using attention::BackendId;
  for (const BackendId id : {BackendId::Reference, BackendId::CpuFlash, BackendId::TorchSdpa}) {
    const auto engine = engine_with(id);
    for (int rules = 0; rules < 32; ++rules) {
      const AttentionCall call = call_with(rules);
      const at::Tensor got = attention(call, {.engine = engine.get(), .component = "transformer", .path = {}});
      const double difference = (got - attention(call, {})).abs().max().item<double>();
      EXPECT_LE(difference, 1e-5) << attention::backend_name(id) << " rules " << rules;
    }
    for (const auto& row : engine->report()) EXPECT_EQ(row.backend, attention::backend_name(id));
  }
}

TEST(EngineAttention, LengthsThatHideNothingAreNoMask) {
  const auto engine = engine_with(attention::BackendId::CpuFlash);
  AttentionCall call = call_with(0);
  call.key_lengths = {{7, 7}};
  call.role = AttentionRole::Cross;
  attention(call, {.engine = engine.get(), .component = "transformer", .path = {}});
  ASSERT_EQ(engine->report().size(), 1U);
  EXPECT_EQ(engine->report()[0].problem.mask, attention::MaskKind::None);
  EXPECT_EQ(engine->report()[0].problem.role, attention::Role::Cross);
}

TEST(EngineAttention, ThrowsWhatTheEngineReports) {
  const auto engine = engine_with(attention::BackendId::Fa3);
  try {
    attention(call_with(0), {.engine = engine.get(), .component = "transformer", .path = {}});
    FAIL() << "fa3 does not run on a CPU";
  } catch (const RuntimeFault& fault) {
    EXPECT_NE(fault.error.what.find("fa3"), std::string::npos) << fault.error.line();
  }
  AttentionCall call = call_with(0);
  call.bool_mask = at::ones({3, 7}, at::kBool);
  EXPECT_THROW(attention(call, {.engine = engine.get(), .component = "vae", .path = {}}), RuntimeFault);
}

}  // namespace
}  // namespace tessera::nn
