// The attention engine of a run, from the texts of its options.
#pragma once

#include "tensor/aten.h"

#include <filesystem>

#include "attention/engine.h"
#include "base/result.h"
#include "runtime/options.h"

namespace tessera::runtime {

/// The choices that the texts ask for. Errors: Usage.
Result<attention::SelectionTable> selections_of(const RuntimeOptions& options);

/// Enters the weight format of each component that declares one in its config (quantization_config), for the policy of
/// formats. Errors: BadFile.
Status add_weight_formats(const std::filesystem::path& folder, attention::SelectionTable& selections);

/// Device, choices, canary and faults. `device` of the result says which backends this build has.
/// Errors: Usage for a backend, component, canary, quality or injection that no flag takes.
Result<attention::EngineOptions> attention_options(const RuntimeOptions& options, const at::Device& device);

}  // namespace tessera::runtime
