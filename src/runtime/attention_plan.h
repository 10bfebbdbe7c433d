// The attention decisions of a request before it runs: for `explain --model`, and to refuse a hopeless choice early.
#pragma once

#include "tensor/aten.h"

#include "attention/policy/overrides.h"
#include "attention/policy/resolver.h"
#include "attention/selections.h"
#include "pipeline/attention_site.h"
#include "platform/device_profile.h"

namespace tessera::runtime {

/// One site of a model with the decision for it.
struct SiteDecision {
  pipeline::AttentionSite site;
  attention::Decision decision;
};

/// What the decisions of a model rest on.
struct PlanBasis {
  const attention::SelectionTable& selections;
  const platform::DeviceProfile& device;
  DType dtype = DType::F32;                                ///< the arithmetic of the run
  std::optional<attention::Choice> forced = std::nullopt;  ///< by a ForceScope
};

struct AttentionPlan {
  std::vector<SiteDecision> sites;
  Status overrides;  ///< what leaving the components said: Ok, or the first override that layers did not follow
};

/// Decides every site, each component inside a ComponentScope as if its layers were being built. Pure: no weights, no
/// device. The engine decides the calls of a run by the same selections.
AttentionPlan plan_attention(const std::vector<pipeline::AttentionSite>& sites, const PlanBasis& basis);

/// Usage when a key of `--component-attention-backends` names a component or role that the model does not have.
Status check_keys(const AttentionPlan& plan, const attention::SelectionTable& selections);

/// The error of the first site that nothing may serve, that of check_keys, the fault of an override; Ok without any.
Status check_attention(const AttentionPlan& plan, const attention::SelectionTable& selections);

}  // namespace tessera::runtime
