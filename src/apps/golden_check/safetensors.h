// Golden check of weight files: accept or reject as the index says, and the values of accepted ones.
#pragma once

#include "apps/golden_check/report.h"

namespace tessera::golden {

/// A folder whose index.json lists weight files or shard folders, each with `expect` accept or reject.
bool is_safetensors(const std::filesystem::path& folder);

/// One count per case: the verdict, and for an accepted file every tensor's type, shape and bytes, and the metadata.
GoldenReport check_safetensors(const std::filesystem::path& folder);

}  // namespace tessera::golden
