// The path for AArch64 with NEON (Advanced SIMD), which every such processor has: the common body in a namespace of its
// own.
#include <arm_neon.h>

#include <atomic>

#include "kernels/paths.h"
#include "kernels/plan.h"
#include "kernels/problem.h"

namespace tessera::kernels::neon {
namespace {

constexpr Isa kIsa = Isa::Neon;

#include "kernels/simd/neon.inl"
#include "kernels/body/exp.inl"
#include "kernels/body/work.inl"
#include "kernels/body/rows.inl"
#include "kernels/body/bias.inl"
#include "kernels/body/exact.inl"
#include "kernels/body/run.inl"
#include "kernels/body/peak.inl"

}  // namespace

AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel) {
  // smlal multiplies four pairs of 16 bits an instruction, as fmla does floats: 13-bit integers gain nothing here.
  return run_call<Exact>(args, parallel);
}

int64_t peak_loop(PeakKind kind, int64_t steps) {
  return run_peak_loop(kind, steps);
}

}  // namespace tessera::kernels::neon
