// What `--version` prints and what recipes record.
#pragma once

#include <string>

namespace tessera::cli {

/// "tessera 0.1.0 (LibTorch 2.13.0)".
std::string version_text();

}  // namespace tessera::cli
