// Packed sequences one by one, for backends without a packed form of their own.
#pragma once

#include "attention/backend.h"

namespace tessera::attention {

/// The queries [begin, begin + count) of the outputs, as views.
AttentionOutputs rows_of(const AttentionOutputs& outputs, int64_t begin, int64_t count);

/// Runs each sequence of `inputs.packed` as a problem of its own, on views; masks and key lengths are cut to it.
/// Sequences without queries are left out, those without keys and tokens of no sequence get zeros and LSE -inf.
/// Errors: the first of the backend's.
Status run_by_segments(AttentionBackend& backend, const AttentionInputs& inputs, const AttentionOutputs& outputs,
                       Quality tier);

/// Zeros and LSE -inf for the queries after the last sequence.
void clear_after_segments(const Packed& packed, const AttentionOutputs& outputs);

}  // namespace tessera::attention
