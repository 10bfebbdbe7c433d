// What a call is, without its data: the engine's cache key, and the problem that the policy decides on.
#pragma once

#include "attention/inputs.h"
#include "attention/plan.h"
#include "attention/policy/problem.h"

namespace tessera::attention {

/// The key of a call; `component` is the engine's number for it. No allocation: it is made on every call.
CallKey call_key(const AttentionInputs& inputs, int64_t component, Role role, bool needs_lse);

/// The same call for the policy, with the lengths of its keys.
AttentionProblem problem_of(const AttentionInputs& inputs, Role role, bool needs_lse);

}  // namespace tessera::attention
