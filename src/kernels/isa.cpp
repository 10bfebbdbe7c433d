// Which instruction sets this processor and operating system can run, their names, and TESSERA_FORCE_ISA.
#include "base/env.h"
#include "base/strings.h"
#include "kernels/paths.h"

namespace tessera::kernels {
namespace {

constexpr struct {
  Isa isa;
  std::string_view name;
} kNames[] = {{Isa::Auto, "auto"},        {Isa::Scalar, "scalar"},     {Isa::Avx2, "avx2"},
              {Isa::AvxVnni, "avx_vnni"}, {Isa::Avx512, "avx512"},     {Isa::Avx512Vnni, "avx512_vnni"},
              {Isa::Neon, "neon"},        {Isa::NeonI8mm, "neon_i8mm"}};

const std::vector<Isa>& detected() {
  static const std::vector<Isa> isas = detect_isas();
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
