// The path for AVX-512 with VNNI: the common body compiled for that target alone, in a namespace of its own.
#include <immintrin.h>

#include <atomic>

#include "kernels/paths.h"
#include "kernels/plan.h"
#include "kernels/problem.h"

// g++ 12 reports its own header (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma,f16c")

namespace tessera::kernels::avx512_vnni {
namespace {

constexpr Isa kIsa = Isa::Avx512Vnni;

#include "kernels/simd/avx512.inl"
#include "kernels/simd/dot_avx512_vnni.inl"
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

}  // namespace tessera::kernels::avx512_vnni

#pragma GCC pop_options
