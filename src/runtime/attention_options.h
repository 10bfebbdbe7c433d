// The attention engine of a run, from the texts of its options.
#pragma once

#include "tensor/aten.h"

#include "attention/engine.h"
#include "base/result.h"
#include "runtime/options.h"

namespace tessera::runtime {

/// Errors: Usage for a backend, component, canary, quality or injection that no flag takes.
Result<std::unique_ptr<attention::AttentionEngine>> make_attention(const RuntimeOptions& options,
                                                                   const at::Device& device);

}  // namespace tessera::runtime
