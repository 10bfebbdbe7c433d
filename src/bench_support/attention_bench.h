// Times attention contenders on one problem, interleaved, so that a busy machine slows all of them alike.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench_support/attention_tensors.h"
#include "bench_support/statistics.h"
#include "kernels/attention.h"

namespace tessera::bench_support {

/// One backend at one tier.
struct Contender {
  std::string backend;  ///< "cpu_flash", "cpu_sage" or "torch_sdpa"
  kernels::Tier tier = kernels::Tier::Exact;
};

struct Measurement {
  Contender contender;
  Statistics seconds;  ///< of one call
  double max_abs_error = 0;
};

/// A contender that does not run, with the reason.
struct Refusal {
  std::string backend;
  std::string tier;
  std::string reason;
};

/// The contenders of a list of backends and a tier ("exact", "high", "fast", "all"). cpu_flash has exact and high,
/// cpu_sage fast, torch_sdpa its own one arithmetic. Errors: Usage for an unknown name.
Result<std::vector<Contender>> parse_contenders(const std::string& backends, const std::string& tier,
                                                std::vector<Refusal>& refused);

/// Runs every contender once a round, `rounds` rounds; a round of a short problem is several calls, of which the mean
/// counts.
Result<std::vector<Measurement>> measure(const AttentionTensors& tensors, const std::vector<Contender>& contenders,
                                         int rounds);

}  // namespace tessera::bench_support
