// What of kernels/ is compiled for AArch64, and which of it this processor can run. There are no integer linears.
#include <sys/auxv.h>

#include "kernels/linear/paths.h"
#include "kernels/paths.h"

namespace tessera::kernels {
namespace {

constexpr PathRow kRows[] = {{Isa::Scalar, scalar::run, nullptr},
                             {Isa::Neon, neon::run, neon::peak_loop},
                             {Isa::NeonI8mm, neon_i8mm::run, neon_i8mm::peak_loop}};

// HWCAP2_I8MM of Linux; headers older than the processors lack the name.
constexpr unsigned long kHasI8mm = 1UL << 13;

}  // namespace

std::span<const PathRow> compiled_paths() {
  return kRows;
}

std::vector<Isa> detect_isas() {
  std::vector<Isa> isas = {Isa::Scalar, Isa::Neon};
  if ((getauxval(AT_HWCAP2) & kHasI8mm) != 0) isas.push_back(Isa::NeonI8mm);
  return isas;
}

std::optional<LinearPath> linear_path_of(Isa) {
  return std::nullopt;
}

}  // namespace tessera::kernels
