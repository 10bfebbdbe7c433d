// Golden check of whole pipelines: a request is run in float32 on the CPU and every recorded tensor compared.
#pragma once

#include "apps/golden_check/report.h"

namespace tessera::golden {

/// True for a folder with case.json, expected.safetensors and model/.
bool is_pipeline(const std::filesystem::path& folder);

/// Runs the case's request through the public Pipeline with a trace. checked = each tensor of expected.safetensors;
/// one that the run did not record is a failure. Never throws: what stops the run is a failure named "run".
GoldenReport check_pipeline(const std::filesystem::path& case_folder);

}  // namespace tessera::golden
