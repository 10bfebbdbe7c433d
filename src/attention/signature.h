// What a call is, without its data: the engine's cache key, and the problem that the policy decides on.
#pragma once

#include "attention/inputs.h"
#include "attention/plan.h"
#include "attention/policy/problem.h"

namespace tessera::attention {

/// Kernels on CPUs mind none of it but whether packed sequences are square, so there the rest keeps its default.
CallFacts facts_of(const AttentionInputs& inputs, bool for_gpu);

/// What the engine knows of a call beside its tensors.
struct CallPlace {
  int64_t component = 0;  ///< the engine's number for it
  int64_t layer = 0;      ///< what a layer and a ForceScope say, as one number
  Role role = Role::Self;
  bool needs_lse = false;
  CallFacts facts;
};

/// The key of a call. No allocation: it is made on every call.
CallKey call_key(const AttentionInputs& inputs, const CallPlace& place);

/// The same call for the policy, with the lengths of its keys. `aligned`: as in its facts.
AttentionProblem problem_of(const AttentionInputs& inputs, Role role, bool needs_lse, bool aligned);

}  // namespace tessera::attention
