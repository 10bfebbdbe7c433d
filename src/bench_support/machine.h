// What a benchmark has to say about the machine that it ran on.
#pragma once

#include <string>

#include "base/json.h"
#include "kernels/attention.h"

namespace tessera::bench_support {

/// Measured peaks in GFLOP/s (GOP/s for integers); 0 where the path has no such instruction.
struct Peaks {
  double fp32 = 0;
  double int16 = 0;
  double int8 = 0;

  /// The peak of what a tier computes with on these instructions.
  double of(kernels::Tier tier) const;
};

/// What `threads` cores do at their best when all of them work, measured.
Peaks measure_peaks(kernels::Isa isa, int threads);

/// The processor's name as the operating system tells it.
std::string cpu_name();

/// Bytes that can be taken without pushing anything out.
int64_t available_memory_bytes();

/// {"cpu", "isa", "threads"}.
OrderedJson machine_json(kernels::Isa isa, int threads);

/// The same with "peak_gflops": {"fp32", "int16", "int8"}.
OrderedJson machine_json(kernels::Isa isa, int threads, const Peaks& peaks);

/// {"tessera", "torch", "compiler"}.
OrderedJson versions_json(const std::string& tessera);

}  // namespace tessera::bench_support
