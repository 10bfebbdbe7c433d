// The set of backends that a model lists: it limits automatic choice, never an explicit one.
#pragma once

#include <vector>

#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "platform/device_profile.h"

namespace tessera::attention {

/// True if a model with this set may be given `id`, which stands in `via`. An empty set allows everything. Implied:
/// the FA rows by "fa", cuDNN and the CPU kernels by torch_sdpa, the cuDNN preset by fa and torch_sdpa together.
bool model_allows(const std::vector<Choice>& set, const Choice& via, BackendId id);

/// The members in alphabetical order of their names: the order in which they are tried when nothing else serves.
std::vector<Choice> sorted_by_name(std::vector<Choice> set);

/// True where `dynamic_cudnn_sdpa` is the default: on Blackwell, when FlashAttention serves this head size and dtype
/// and the model's set allows both.
bool dynamic_by_default(const AttentionProblem& problem, const Selection& selection,
                        const platform::DeviceProfile& device);

}  // namespace tessera::attention
