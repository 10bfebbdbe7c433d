// The attention engine of a run, from the texts of its options.
#pragma once

#include "tensor/aten.h"

#include "attention/engine.h"
#include "base/result.h"
#include "runtime/options.h"

namespace tessera::runtime {

/// Device, choices, canary and faults. `device` of the result says which backends this build has.
/// Errors: Usage for a backend, component, canary, quality or injection that no flag takes.
Result<attention::EngineOptions> attention_options(const RuntimeOptions& options, const at::Device& device);

}  // namespace tessera::runtime
