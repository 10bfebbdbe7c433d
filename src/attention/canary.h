// Does a kernel really compute attention? Its first runs are checked on a few rows before they are trusted.
#pragma once

#include <string_view>

#include "attention/inputs.h"
#include "attention/policy/backend_id.h"
#include "attention/policy/selection.h"
#include "base/result.h"

namespace tessera::attention {

/// `--attention-canary`. Default: First for kernels of other projects, Off for ours and LibTorch's.
enum class CanaryMode { Default, Off, First, Always };

/// Errors: Usage.
Result<CanaryMode> parse_canary(std::string_view name);

/// Whether a run of this backend is to be checked; `proven`: an earlier run of the same problem passed.
bool canary_wanted(CanaryMode mode, BackendId backend, bool proven);

/// Fills the buffers with a NaN that no arithmetic makes, so that what a kernel leaves untouched can be told.
void poison(const AttentionOutputs& outputs);

/// Checks a finished run: nothing left untouched, no NaN out of finite inputs, nothing larger than the largest value
/// (the output is a weighted mean), and a few rows equal to the reference within the bound of the dtype, or within
/// `l1_bound` (sum |out - exact| / sum |exact|) when the tier is approximate.
/// Errors: NumericalFault that says what is wrong.
Status check_outputs(const AttentionInputs& inputs, const AttentionOutputs& outputs, double l1_bound);

}  // namespace tessera::attention
