// Golden check of attention: every case on every backend of this build and every instruction set of this machine.
#pragma once

#include "apps/golden_check/report.h"

namespace tessera::golden {

/// A folder whose index.json lists attention problems: cases with `views` of stored tensors.
bool is_attention(const std::filesystem::path& folder);

/// One count per case, backend, tier and instruction set; a backend's refusal is counted under `skipped` with its
/// reason. Exact tiers are held to the case's tolerance, approximate ones to their catalog bound.
GoldenReport check_attention(const std::filesystem::path& folder);

}  // namespace tessera::golden
