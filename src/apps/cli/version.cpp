#include "apps/cli/version.h"

#include <torch/headeronly/version.h>

namespace tessera::cli {

std::string version_text() {
  return "tessera " TESSERA_VERSION " (LibTorch " TORCH_VERSION ")";
}

}  // namespace tessera::cli
