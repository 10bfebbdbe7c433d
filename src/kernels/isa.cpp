// Which instruction sets this processor and operating system can run, their names, and TESSERA_FORCE_ISA.
#include <cpuid.h>

#include "base/env.h"
#include "base/strings.h"
#include "kernels/attention.h"

namespace tessera::kernels {
namespace {

constexpr struct {
  Isa isa;
  std::string_view name;
} kNames[] = {{Isa::Auto, "auto"},        {Isa::Scalar, "scalar"}, {Isa::Avx2, "avx2"},
              {Isa::AvxVnni, "avx_vnni"}, {Isa::Avx512, "avx512"}, {Isa::Avx512Vnni, "avx512_vnni"}};

/// Leaf 7.1, EAX bit 4; __builtin_cpu_supports of g++ 12 does not know it.
bool has_avx_vnni() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax >> 4 & 1U) != 0;
}

std::vector<Isa> detect() {
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

const std::vector<Isa>& detected() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

bool has(Isa isa) {
  for (const Isa a : detected()) {
    if (a == isa) return true;
  }
  return false;
}

Result<Isa> choose() {
  const auto forced = env::get("TESSERA_FORCE_ISA");
  if (!forced || strings::lower(*forced) == "auto") return detected().back();
  std::vector<std::string> known;
  for (const auto& [isa, name] : kNames) {
    known.emplace_back(name);
    if (name != strings::lower(*forced)) continue;
    if (has(isa)) return isa;
    return fail(ErrorCode::Unavailable, strings::join("TESSERA_FORCE_ISA=", *forced, " is not on this machine"),
                strings::join("its best is ", isa_name(detected().back())));
  }
  return fail(ErrorCode::Usage, strings::join("TESSERA_FORCE_ISA=", *forced, " is not known"),
              "known: " + strings::list(known));
}

}  // namespace

std::vector<Isa> available_isas() {
  return detected();
}

Result<Isa> active_isa() {
  static const Result<Isa> isa = choose();
  return isa;
}

std::string_view isa_name(Isa isa) {
  for (const auto& row : kNames) {
    if (row.isa == isa) return row.name;
  }
  return "unknown";
}

}  // namespace tessera::kernels
