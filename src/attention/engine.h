// The attention engine: decides once per kind of call, runs, falls back only after Unsupported, checks, explains.
#pragma once

#include "tensor/aten.h"

#include <shared_mutex>
#include <unordered_map>

#include "attention/backend.h"
#include "attention/backends/cuda_call.h"
#include "attention/canary.h"
#include "attention/inject.h"
#include "attention/plan.h"
#include "attention/report.h"
#include "attention/selections.h"
#include "platform/device_profile.h"

namespace tessera::attention {

struct EngineOptions {
  platform::DeviceProfile device;  ///< `built` is filled in by the engine, from its backends
  SelectionTable selections;
  CanaryMode canary = CanaryMode::Default;
  std::vector<Injection> injections;                    ///< while there are any, the default canary is Always
  bool (*capturing)(const at::Tensor&) = is_capturing;  ///< whether a CUDA graph records this call; tests pretend
  /// Shared by the engines of a program, because a ForceScope on it holds for all of them; may be absent.
  std::shared_ptr<Overrides> overrides = nullptr;
};

/// Who calls. `component` as in Scope: "transformer", "text_encoder", "vae".
struct CallSite {
  std::string_view component;
  Role role = Role::Self;
  std::optional<Choice> pin = std::nullopt;            ///< the layer's code allows nothing else
  std::optional<Choice> layer_default = std::nullopt;  ///< the layer's code prefers it where nobody chose
};

using BackendMap = std::map<BackendId, std::unique_ptr<AttentionBackend>>;

/// Safe to call from several threads. Nothing process-wide is touched; its life is that of a loaded model or a server.
class AttentionEngine {
 public:
  AttentionEngine(EngineOptions options, BackendMap backends);

  /// Serves one call. What a backend answers decides what happens:
  /// - Unsupported: latched for this kind of call, the next candidate runs in the same call;
  /// - a wrong output found by the canary: the backend is quarantined for all calls, the next candidate runs;
  /// - anything else (OutOfMemory, DeviceFault, …): returned, nothing is remembered.
  /// While a CUDA graph is captured only the backend that served this kind of call before runs, without a canary:
  /// plans, checks and fallbacks all belong before the capture.
  /// Errors: Misuse (inputs do not fit together; a kind of call that a capture meets first), the decision's error (a
  /// strict choice that cannot be obeyed), Unsupported or NumericalFault when no candidate is left.
  Result<AttentionOutputs> run(const AttentionInputs& inputs, const CallSite& site, bool needs_lse = false);

  /// The same into the caller's buffers (contiguous out; lse is computed when it is defined).
  Status run_into(const AttentionInputs& inputs, const CallSite& site, const AttentionOutputs& outputs);

  /// One row per kind of call so far, in the order of their first calls.
  std::vector<SiteReport> report() const;

 private:
  /// run_into for inputs that were validated.
  Status run_checked(const AttentionInputs& inputs, const CallSite& site, const AttentionOutputs& outputs);
  Plan& plan_for(const AttentionInputs& inputs, const CallSite& site, bool needs_lse);
  Plan& make_plan(const AttentionInputs& inputs, const CallSite& site, bool needs_lse, const CallFacts& facts);
  std::optional<int64_t> component_index(std::string_view component) const;
  Selection selection_for(const CallSite& site) const;
  void add_candidates(Plan& plan);
  std::vector<PastFailure> past_failures(const Plan& fresh) const;
  Status run_plan(Plan& plan, const AttentionInputs& inputs, const AttentionOutputs& outputs);
  Status run_candidate(PlanCandidate& candidate, const AttentionInputs& inputs, const AttentionOutputs& outputs) const;
  Status run_captured(Plan& plan, const AttentionInputs& inputs, const AttentionOutputs& outputs) const;
  std::optional<std::string> exclude(const Plan& plan, PlanCandidate& candidate, const Error& error);
  SiteReport report_of(const Plan& plan) const;

  EngineOptions options_;
  std::map<BackendId, BackendSlot> slots_;  // fixed after construction
  mutable std::shared_mutex mutex_;         // guards what follows
  std::vector<std::string> components_;
  std::unordered_map<CallKey, std::unique_ptr<Plan>, CallKeyHash> plans_;
  std::vector<const Plan*> in_order_;
};

/// An engine with every backend of this build.
std::unique_ptr<AttentionEngine> make_engine(EngineOptions options);

}  // namespace tessera::attention
