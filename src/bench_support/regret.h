// What following the rules costs against always taking the fastest backend: pure arithmetic over measured times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace tessera::bench_support {

struct Timing {
  std::string backend;
  double seconds = 0;
};

/// One problem: what was fastest, what the rules take, and how much longer that lasts (0.02 = 2 %).
struct Regret {
  std::string best;
  std::string chosen;
  std::optional<double> loss;  ///< nothing when the chosen backend was not measured
};

/// Precondition: there are timings. Times within `noise` of the best count as the best.
Regret regret_of(const std::string& chosen, const std::vector<Timing>& timings, double noise = 0.01);

/// {"shapes", "measured", "agreed", "mean_loss", "worst_loss"} over problems; losses are 0 where nothing was measured.
OrderedJson summary_of(const std::vector<Regret>& regrets);

}  // namespace tessera::bench_support
