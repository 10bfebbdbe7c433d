// The path for AArch64 with NEON and 8-bit products of mixed signs (FEAT_I8MM): the common body in a namespace of its
// own.
#include <arm_neon.h>

#include <atomic>

#include "kernels/paths.h"
#include "kernels/plan.h"
#include "kernels/problem.h"

#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+i8mm")

namespace tessera::kernels::neon_i8mm {
namespace {

constexpr Isa kIsa = Isa::NeonI8mm;

#include "kernels/simd/neon.inl"
#include "kernels/simd/neon_int.inl"
#include "kernels/body/exp.inl"
#include "kernels/body/work.inl"
#include "kernels/body/rows.inl"
#include "kernels/body/bias.inl"
#include "kernels/body/exact.inl"
#include "kernels/body/bytes.inl"
#include "kernels/body/integer_pack.inl"
#include "kernels/body/integer.inl"
#include "kernels/body/run.inl"
#include "kernels/body/peak.inl"

}  // namespace

AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel) {
  if (args.tier == Tier::Fast) return run_call<Integer<Bytes>>(args, parallel);
  // smlal multiplies four pairs of 16 bits an instruction, as fmla does floats: 13-bit integers gain nothing here.
  return run_call<Exact>(args, parallel);
}

int64_t peak_loop(PeakKind kind, int64_t steps) {
  return run_peak_loop(kind, steps);
}

}  // namespace tessera::kernels::neon_i8mm

#pragma GCC pop_options
