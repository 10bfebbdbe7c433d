// Attention from plain ATen operators over blocks of queries: the careful path of torch_sdpa, on any device.
#pragma once

#include "attention/inputs.h"

namespace tessera::attention {

/// Computes `inputs` (no key lengths: narrow key and value before) into `outputs`; either output may be undefined.
/// Holds the whole contract, also for NaN and infinities; memory grows with Skv, not with Sq * Skv.
void chunked_math(const AttentionInputs& inputs, const AttentionOutputs& outputs);

}  // namespace tessera::attention
