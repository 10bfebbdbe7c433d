// Median, p95 and minimum of a set of timings.
#pragma once

#include <vector>

namespace tessera::bench_support {

struct Statistics {
  double median = 0;
  double p95 = 0;
  double min = 0;
};

/// Of at least one value. Between two values the median is the lower one, p95 the higher one.
Statistics statistics_of(std::vector<double> values);

}  // namespace tessera::bench_support
