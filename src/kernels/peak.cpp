#include "kernels/peak.h"

#include <algorithm>
#include <chrono>

#include "kernels/paths.h"

namespace tessera::kernels {
namespace {

// About 1 ms at 3 GHz and 24 instructions a step, two of them a cycle.
constexpr int64_t kSteps = 250000;

PeakLoop loop_of(Isa isa) {
  switch (isa) {
    case Isa::Avx2:
      return avx2::peak_loop;
    case Isa::AvxVnni:
      return avx_vnni::peak_loop;
    case Isa::Avx512:
      return avx512::peak_loop;
    case Isa::Avx512Vnni:
      return avx512_vnni::peak_loop;
    case Isa::Auto:
    case Isa::Scalar:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

double measure_peak(Isa isa, PeakKind kind, int rounds) {
  const PeakLoop loop = loop_of(isa);
  const auto usable = available_isas();
  if (loop == nullptr || std::ranges::find(usable, isa) == usable.end()) return 0;
  const double operations = static_cast<double>(loop(kind, 1)) * static_cast<double>(kSteps);
  double best = 0;
  for (int i = 0; i < rounds && operations > 0; ++i) {
    const auto start = std::chrono::steady_clock::now();
    loop(kind, kSteps);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, operations / seconds.count() * 1e-9);
  }
  return best;
}

}  // namespace tessera::kernels
