// What of kernels/ is compiled for x86-64, and which of it this processor and operating system can run.
#include <cpuid.h>

#include "kernels/linear/paths.h"
#include "kernels/paths.h"

namespace tessera::kernels {
namespace {

constexpr PathRow kRows[] = {{Isa::Scalar, scalar::run, nullptr},
                             {Isa::Avx2, avx2::run, avx2::peak_loop},
                             {Isa::AvxVnni, avx_vnni::run, avx_vnni::peak_loop},
                             {Isa::Avx512, avx512::run, avx512::peak_loop},
                             {Isa::Avx512Vnni, avx512_vnni::run, avx512_vnni::peak_loop}};

/// Leaf 7.1, EAX bit 4; __builtin_cpu_supports of g++ 12 does not know it.
bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1U) != 0;
}

}  // namespace

std::span<const PathRow> compiled_paths() {
  return kRows;
}

std::vector<Isa> detect_isas() {
  std::vector<Isa> isas = {Isa::Scalar};
  const auto all = [](auto... features) { return (... && (features != 0)); };
  const bool avx2 = all(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("f16c"));
  if (!avx2) return isas;
  isas.push_back(Isa::Avx2);
  if (has_avx_vnni()) isas.push_back(Isa::AvxVnni);
  const bool avx512 = all(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"),
                          __builtin_cpu_supports("avx512vl"), __builtin_cpu_supports("avx512dq"));
  if (!avx512) return isas;
  isas.push_back(Isa::Avx512);
  if (__builtin_cpu_supports("avx512vnni") != 0) isas.push_back(Isa::Avx512Vnni);
  return isas;
}

std::optional<LinearPath> linear_path_of(Isa isa) {
  if (isa == Isa::Avx512Vnni) return avx512_vnni::linear_path();
  if (isa == Isa::AvxVnni) return avx_vnni::linear_path();
  return std::nullopt;
}

}  // namespace tessera::kernels
