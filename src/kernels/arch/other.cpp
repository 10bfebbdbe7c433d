// Processors that kernels/ has no vectors for: the scalar path.
#include "kernels/linear/paths.h"
#include "kernels/paths.h"

namespace tessera::kernels {
namespace {

constexpr PathRow kRows[] = {{Isa::Scalar, scalar::run, nullptr}};

}  // namespace

std::span<const PathRow> compiled_paths() {
  return kRows;
}

std::vector<Isa> detect_isas() {
  return {Isa::Scalar};
}

std::optional<LinearPath> linear_path_of(Isa) {
  return std::nullopt;
}

}  // namespace tessera::kernels
