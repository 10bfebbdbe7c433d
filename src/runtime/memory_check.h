// Will the request fit in memory? Asked before anything is loaded.
#pragma once

#include "tensor/aten.h"

#include <filesystem>

#include "base/result.h"
#include "pipeline/attention_site.h"
#include "residency/plan.h"
#include "runtime/arithmetic.h"

namespace tessera::runtime {

/// The stages of a request on the models of a folder: each text encoder on its own, then the transformers, then the
/// autoencoder, in the order of their use. Sizes come from file headers; activations are estimated from the attention
/// sites (see memory_check.cpp). Errors: those of reading the headers.
Result<std::vector<residency::Stage>> memory_stages(const std::filesystem::path& folder,
                                                    const std::vector<pipeline::AttentionSite>& sites,
                                                    const Arithmetic& arithmetic);

/// Errors: OutOfMemory with the numbers, when a stage does not fit what this process may use.
Status check_memory(const std::vector<residency::Stage>& stages);

}  // namespace tessera::runtime
