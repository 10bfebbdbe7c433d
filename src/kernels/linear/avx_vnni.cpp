// Integer linears for AVX2 with AVX-VNNI: the common body compiled for that target alone, in a namespace of its own.
#include <immintrin.h>

#include <atomic>

#include "kernels/linear/paths.h"
#include "kernels/plan.h"

// g++ 12 reports its own header (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
// The wrapper has more than linears need.
#pragma GCC diagnostic ignored "-Wunused-function"

#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avxvnni")

namespace tessera::kernels::avx_vnni {
namespace {

constexpr Isa kIsa = Isa::AvxVnni;

#include "kernels/simd/avx2.inl"
#include "kernels/simd/dot_avx_vnni.inl"
#include "kernels/body/exp.inl"
#include "kernels/simd/linear_avx2.inl"
#include "kernels/linear/numbers.inl"
#include "kernels/linear/pack.inl"
#include "kernels/linear/body.inl"

int64_t packed(Tier tier, int64_t in, int64_t out) {
  return tier == Tier::High ? packed_bytes<LinearWords>(in, out) : packed_bytes<LinearBytes>(in, out);
}

bool pack(Tier tier, const LinearWeights& weights, std::byte* to, const ParallelFor& parallel) {
  if (tier == Tier::High) return pack_weights<LinearWords>(weights, to, parallel);
  return pack_weights<LinearBytes>(weights, to, parallel);
}

LinearRun run(const LinearArgs& args, const ParallelFor& parallel) {
  return args.tier == Tier::High ? run_linear<LinearWords>(args, parallel) : run_linear<LinearBytes>(args, parallel);
}

}  // namespace

LinearPath linear_path() {
  return {packed, pack, run};
}

}  // namespace tessera::kernels::avx_vnni

#pragma GCC pop_options
