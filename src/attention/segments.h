// Packed sequences one by one, for backends without a packed form of their own.
#pragma once

#include <functional>

#include "attention/inputs.h"

namespace tessera::attention {

using RunDense = std::function<Status(const AttentionInputs&, const AttentionOutputs&)>;

/// Runs each sequence of `inputs.packed` as a problem of its own, on views; masks and key lengths are cut to it.
/// Sequences without queries are left out, those without keys and tokens of no sequence get zeros and LSE -inf.
/// Errors: the first of `run`.
Status run_by_segments(const AttentionInputs& inputs, const AttentionOutputs& outputs, const RunDense& run);

/// Zeros and LSE -inf for the queries after the last sequence.
void clear_after_segments(const Packed& packed, const AttentionOutputs& outputs);

}  // namespace tessera::attention
