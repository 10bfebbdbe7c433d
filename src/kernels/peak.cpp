#include "kernels/peak.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/paths.h"

namespace tessera::kernels {
namespace {

// About 5 ms at 3 GHz and 24 instructions a step, two of them a cycle: long beside the waking of a thread.
constexpr int64_t kSteps = 1250000;

PeakLoop loop_of(Isa isa) {
  const auto rows = compiled_paths();
  const auto row = std::ranges::find(rows, isa, &PathRow::isa);
  return row == rows.end() ? nullptr : row->peak_loop;
}

}  // namespace

double measure_peak(Isa isa, PeakKind kind, int threads, int rounds) {
  const PeakLoop loop = loop_of(isa);
  const auto usable = available_isas();
  if (loop == nullptr || std::ranges::find(usable, isa) == usable.end()) return 0;
  const double operations = static_cast<double>(loop(kind, 1)) * static_cast<double>(kSteps);
  if (operations == 0) return 0;
  std::barrier<> together(threads);
  double best = 0;
  const auto work = [&](bool timed) {
    for (int i = 0; i < rounds; ++i) {
      together.arrive_and_wait();
      const auto start = std::chrono::steady_clock::now();
      loop(kind, kSteps);
      together.arrive_and_wait();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      if (timed) best = std::max(best, threads * operations / seconds.count() * 1e-9);
    }
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, false);
  work(true);
  return best;
}

}  // namespace tessera::kernels
