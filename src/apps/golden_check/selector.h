// Checks of the folder kind `selector`: decisions of SGLang-Diffusion 0.5.23, compared one by one with ours.
#pragma once

#include <filesystem>

#include "apps/golden_check/report.h"

namespace tessera::golden {

/// True for a folder with one of oracle.json, dynamic.json, quant.json.
bool is_selector(const std::filesystem::path& folder);

/// Compares every row of those files. A row that we decide otherwise on purpose counts under the code of the departure
/// that explains it: undoing that one departure makes the row equal (see selector_departures.h).
GoldenReport check_selector(const std::filesystem::path& folder);

}  // namespace tessera::golden
