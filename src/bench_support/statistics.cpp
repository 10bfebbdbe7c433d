#include "bench_support/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tessera::bench_support {

Statistics statistics_of(std::vector<double> values) {
  TESSERA_CHECK(!values.empty(), "no timings");
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  const auto median = static_cast<size_t>(0.5 * last);
  const auto p95 = static_cast<size_t>(std::ceil(0.95 * last));
  return {values[median], values[p95], values.front()};
}

}  // namespace tessera::bench_support
