// The attention decisions of a request before it runs: for `explain --model`, and to refuse a hopeless choice early.
#pragma once

#include "tensor/aten.h"

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

/// Decides every site. Pure: no weights, no device. `dtype`: the arithmetic of the run.
std::vector<SiteDecision> plan_attention(const std::vector<pipeline::AttentionSite>& sites,
                                         const attention::SelectionTable& selections,
                                         const platform::DeviceProfile& device, DType dtype);

/// The error of the first site that nothing may serve; Ok when each has a backend. Also Usage when a key of
/// `--component-attention-backends` names a component or role that the model does not have.
Status check_attention(const std::vector<SiteDecision>& plan, const attention::SelectionTable& selections);

}  // namespace tessera::runtime
