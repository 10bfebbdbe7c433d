// The implementations behind attention_forward, one per instruction set, and which of them there are: for dispatch.cpp,
// isa.cpp and peak.cpp.
#pragma once

#include <span>

#include "kernels/attention.h"
#include "kernels/peak.h"

namespace tessera::kernels {

/// A path: runs a call that `supports` accepted and says which ISA its code is for.
using Path = AttentionRun (*)(const AttentionArgs& args, const ParallelFor& parallel);

/// A register-only loop of `steps` steps; returns the operations of one step.
using PeakLoop = int64_t (*)(PeakKind kind, int64_t steps);

struct PathRow {
  Isa isa;
  Path run;
  PeakLoop peak_loop;  ///< nullptr without vectors
};

/// The paths compiled for this architecture (arch/), weakest first.
std::span<const PathRow> compiled_paths();

/// Those of them that this processor and operating system can run.
std::vector<Isa> detect_isas();

namespace scalar {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
}
namespace avx2 {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace avx2
namespace avx_vnni {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace avx_vnni
namespace avx512 {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace avx512
namespace avx512_vnni {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace avx512_vnni
namespace neon {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace neon
namespace neon_i8mm {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace neon_i8mm

}  // namespace tessera::kernels
