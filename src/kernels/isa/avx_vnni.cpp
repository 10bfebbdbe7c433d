// The path for AVX2 with AVX-VNNI: the common body compiled for that target alone, in a namespace of its own.
#include <immintrin.h>

#include <atomic>

#include "kernels/paths.h"
#include "kernels/plan.h"
#include "kernels/problem.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avxvnni")

namespace tessera::kernels::avx_vnni {
namespace {

constexpr Isa kIsa = Isa::AvxVnni;

#include "kernels/simd/avx2.inl"
#include "kernels/simd/dot_avx_vnni.inl"
#include "kernels/body/exp.inl"
#include "kernels/body/work.inl"
#include "kernels/body/rows.inl"
#include "kernels/body/bias.inl"
#include "kernels/body/exact.inl"
#include "kernels/body/words.inl"
#include "kernels/body/bytes.inl"
#include "kernels/body/integer_pack.inl"
#include "kernels/body/integer.inl"
#include "kernels/body/run.inl"
#include "kernels/body/peak.inl"

}  // namespace

AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel) {
  if (args.tier == Tier::Fast) return run_call<Integer<Bytes>>(args, parallel);
  if (args.tier == Tier::High) return run_call<Integer<Words>>(args, parallel);
  return run_call<Exact>(args, parallel);
}

int64_t peak_loop(PeakKind kind, int64_t steps) {
  return run_peak_loop(kind, steps);
}

}  // namespace tessera::kernels::avx_vnni

#pragma GCC pop_options
