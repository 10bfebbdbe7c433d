// Which level of a Selection applies, and what that means: the first half of resolve().
#pragma once

#include <optional>
#include <string>

#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "attention/policy/verdict.h"
#include "platform/device_profile.h"

namespace tessera::attention {

/// The level that applies.
struct Asked {
  Choice choice;
  Origin origin = Origin::Default;
  bool by_user = false;  ///< a person or the model's code named it: the model's set of backends does not limit it
  bool strict = false;   ///< used, or an error
  std::string provenance;
};

Asked asked_by(const Selection& selection, const AttentionProblem& problem, const platform::DeviceProfile& device);

/// What replaces a choice that is not available here, before the automatic choice is asked; nothing when that comes
/// next. Sage without its library becomes FlashAttention, Sage 3 and FlashAttention become torch SDPA, the FP8 kernel
/// cuDNN.
std::optional<Choice> substitute_for(const Choice& choice, Reason why);

}  // namespace tessera::attention
