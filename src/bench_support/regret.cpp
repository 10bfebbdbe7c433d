#include "bench_support/regret.h"

#include <algorithm>

#include "base/check.h"

namespace tessera::bench_support {

Regret regret_of(const std::string& chosen, const std::vector<Timing>& timings, double noise) {
  TESSERA_CHECK(!timings.empty(), "no timings");
  const auto faster = [](const Timing& a, const Timing& b) { return a.seconds < b.seconds; };
  const Timing& best = *std::min_element(timings.begin(), timings.end(), faster);
  const auto taken = std::find_if(timings.begin(), timings.end(), [&](const Timing& t) { return t.backend == chosen; });
  if (taken == timings.end()) return {best.backend, chosen, std::nullopt};
  const double loss = taken->seconds / best.seconds - 1;
  if (loss <= noise) return {chosen, chosen, 0.0};
  return {best.backend, chosen, loss};
}

OrderedJson summary_of(const std::vector<Regret>& regrets) {
  size_t measured = 0, agreed = 0;
  double sum = 0, worst = 0;
  for (const Regret& r : regrets) {
    if (!r.loss) continue;
    ++measured;
    if (*r.loss == 0) ++agreed;
    sum += *r.loss;
    worst = std::max(worst, *r.loss);
  }
  return {{"shapes", regrets.size()},
          {"measured", measured},
          {"agreed", agreed},
          {"mean_loss", measured == 0 ? 0.0 : sum / static_cast<double>(measured)},
          {"worst_loss", worst}};
}

}  // namespace tessera::bench_support
