// Every refusal reason has a case here, and the test fails when one is added without.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "attention/policy/catalog.h"
#include "attention/policy/resolver.h"
#include "tests/policy/policy_cases.h"

namespace tessera::attention {
namespace {

using platform::DeviceProfile;

AttentionProblem with(const std::function<void(AttentionProblem&)>& change) {
  AttentionProblem p = dense(4096, 4096);
  change(p);
  return p;
}

DeviceProfile without(std::string_view name, const std::string& library) {
  DeviceProfile d = device(name);
  d.libraries.erase(library);
  return d;
}

DeviceProfile in_use(std::string_view name, std::set<std::string> built) {
  DeviceProfile d = device(name);
  d.simulated = false;
  d.built = std::move(built);
  return d;
}

struct Case {
  Reason reason;
  BackendId backend;
  AttentionProblem problem;
  DeviceProfile device;
};

std::vector<Case> accepts_cases() {
  using enum BackendId;
  const AttentionProblem plain = dense(4096, 4096);
  DeviceProfile old_cudnn = device("b200");
  old_cudnn.libraries["cudnn"] = "9.10.0";
  return {
      {Reason::NotBuilt, Fa4, plain, in_use("b200", {"torch_sdpa"})},
      {Reason::NotInstalled, Fa4, plain, without("b200", "flash4")},
      {Reason::NeedsCuda, TorchCudnnSdpa, plain, device("cpu_avx2")},
      {Reason::NeedsCpu, CpuFlash, plain, device("h100")},
      {Reason::NeedsOtherPlatform, LaserAttn, plain, device("b200")},
      {Reason::IsaMissing, CpuSage, plain, device("cpu_neon")},
      {Reason::CapabilityTooOld, Fa2, plain, device("t4")},
      {Reason::CapabilityUnserved, Fa4, plain, device("rtx5090")},
      {Reason::NeedsFlash, CubeSparseAttn, plain, without("b200", "flash4")},
      {Reason::BindingBroken, SageAttn, plain, without("h100", "sage_sm90_fix")},
      {Reason::KnownBad, TorchCudnnSdpa, plain, old_cudnn},
      {Reason::Dtype, Fa4, with([](auto& p) { p.dtype = DType::F32; }), device("b200")},
      {Reason::HeadDim, SageAttn, with([](auto& p) { p.head_dim = p.value_dim = 160; }), device("b200")},
      {Reason::ValueDim, Fa3, with([](auto& p) { p.value_dim = 64; }), device("h100")},
      {Reason::Heads, SageAttn3, with([](auto& p) { p.heads_kv = 8; }), device("b200")},
      {Reason::Batch, Fp8FaSm120, with([](auto& p) { p.batch = 2; }), device("rtx5090")},
      {Reason::Causal, Fa4, with([](auto& p) { p.seq_kv = 512, p.causal = Causal::TopLeft; }), device("b200")},
      {Reason::Causal, Fa3, with([](auto& p) { p.mask = MaskKind::KeyLengths, p.causal = Causal::TopLeft; }),
       device("h100")},
      {Reason::Causal, TorchCudnnSdpa,
       with([](auto& p) { p.mask = MaskKind::KeyLengths, p.causal = Causal::BottomRight; }), device("b200")},
      {Reason::Mask, Fa4, with([](auto& p) { p.mask = MaskKind::Bool; }), device("b200")},
      {Reason::Varlen, SageAttn3, with([](auto& p) {
         p.varlen_bounds = {0, 100, 4096};
       }),
       device("b200")},
      {Reason::Lse, SageAttn3, with([](auto& p) { p.needs_lse = true; }), device("b200")},
      {Reason::Scale, SageAttn3, with([](auto& p) { p.scale = 1.0; }), device("b200")},
      {Reason::Layout, TorchCudnnSdpa, with([](auto& p) { p.layout = Layout::LastStrided; }), device("b200")},
      {Reason::Alignment, TorchCudnnSdpa, with([](auto& p) { p.aligned = false; }), device("b200")},
      {Reason::Alignment, Fa2, with([](auto& p) { p.aligned = false; }), device("a100")},
      {Reason::Alignment, Fa3, with([](auto& p) { p.aligned = false; }), device("h100")},
      {Reason::Alignment, Fa4, with([](auto& p) { p.aligned = false; }), device("b200")},
      {Reason::SequenceLength, TorchCudnnSdpa, with([](auto& p) { p.seq_kv = 1; }), device("b200")},
      {Reason::SequenceLength, TorchCudnnSdpa, with([](auto& p) {
         p.varlen_bounds = {0, 100, 4096};
         p.varlen_bounds_kv = {0, 1, 4096};
       }),
       device("b200")},
      {Reason::Causal, TorchCudnnSdpa, with([](auto& p) {
         p.causal = Causal::BottomRight;
         p.varlen_bounds = {0, 100, 4096};
         p.varlen_bounds_kv = {0, 99, 4096};
       }),
       device("b200")},
      {Reason::CrossAttention, VmobaAttn, with([](auto& p) { p.role = Role::Cross; }), device("h100")},
      {Reason::NoKernel, NoAttention, plain, device("b200")},
  };
}

/// Reasons that only a whole decision has.
const std::set<Reason> kOfDecisions = {Reason::Approximate, Reason::NotInModelSet, Reason::FailedBefore,
                                       Reason::Quarantined, Reason::NotChosen};

TEST(Reasons, EachRefusalOfABackendNamesItsReasonAndARemedy) {
  for (const Case& c : accepts_cases()) {
    const Verdict v = accepts(c.backend, c.problem, c.device);
    ASSERT_FALSE(v.accepted()) << backend_name(c.backend) << " should refuse for " << reason_name(c.reason);
    EXPECT_EQ(reason_name(*v.reason), reason_name(c.reason)) << backend_name(c.backend) << ": " << v.text;
    EXPECT_NE(v.text.find("; "), std::string::npos) << "no remedy in: " << v.text;
  }
}

TEST(Reasons, EveryReasonHasACase) {
  std::set<Reason> covered = kOfDecisions;
  for (const Case& c : accepts_cases()) covered.insert(c.reason);
  for (int i = 0; i <= static_cast<int>(Reason::NotChosen); ++i) {
    EXPECT_TRUE(covered.contains(static_cast<Reason>(i))) << reason_name(static_cast<Reason>(i));
  }
}

std::optional<Reason> refusal_of(const Decision& d, BackendId id) {
  for (const Refusal& r : d.refused) {
    if (r.backend == id) return r.reason;
  }
  return std::nullopt;
}

TEST(Reasons, ApproximateRowsAreNotChosenForExactResults) {
  const Decision d = resolve(dense(512, 512), Selection::automatic(), device("cpu_avx2"));
  EXPECT_EQ(refusal_of(d, BackendId::CpuSage), Reason::Approximate);
}

TEST(Reasons, TheModelsSetLimitsAutomaticChoiceOnly) {
  Selection s;
  s.model_supports = {named("torch_sdpa")};
  EXPECT_EQ(refusal_of(resolve(dense(512, 512), s, device("h100")), BackendId::Fa3), Reason::NotInModelSet);
  s.server = named("fa3");
  EXPECT_EQ(resolve(dense(512, 512), s, device("h100")).first(), BackendId::Fa3);
}

TEST(Reasons, PastFailuresAreRefusalsWithTheirReason) {
  for (const Reason reason : {Reason::FailedBefore, Reason::Quarantined}) {
    const std::vector<PastFailure> past = {{BackendId::TorchCudnnSdpa, reason, "seen before; restart"}};
    const Decision d = resolve(dense(4608, 4608), Selection::automatic(), device("b200"), past);
    EXPECT_EQ(refusal_of(d, BackendId::TorchCudnnSdpa), reason);
    EXPECT_EQ(d.first(), BackendId::Fa4) << d.explain();
  }
}

TEST(Reasons, WhatWouldRunButWasNotAskedForSaysSo) {
  const Decision d = resolve(dense(512, 512), server("torch_sdpa"), device("h100"));
  EXPECT_EQ(refusal_of(d, BackendId::Fa3), Reason::NotChosen);
}

}  // namespace
}  // namespace tessera::attention
