// From what a user calls a model to its folder.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace tessera::runtime {

/// `model` is a folder, or "demo": TESSERA_DEMO_MODEL, else the one installed beside the program
/// (share/tessera/demo-model), else the one of the source tree.
/// Errors: NotFound, with the places that were tried for "demo".
Result<std::filesystem::path> find_model(const std::string& model);

}  // namespace tessera::runtime
