// Integer linears for AVX-512 with VNNI: the common body compiled for that target alone, in a namespace of its own.
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
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,fma,f16c")

namespace tessera::kernels::avx512_vnni {
namespace {

constexpr Isa kIsa = Isa::Avx512Vnni;

#include "kernels/simd/avx512.inl"
#include "kernels/simd/dot_avx512_vnni.inl"
#include "kernels/body/exp.inl"
#include "kernels/simd/linear_avx512.inl"
#include "kernels/linear/numbers.inl"
#include "kernels/linear/pack.inl"
#include "kernels/linear/body.inl"
#include "kernels/linear/tiers.inl"

}  // namespace

LinearPath linear_path() {
  return {packed, pack, run};
}

}  // namespace tessera::kernels::avx512_vnni

#pragma GCC pop_options
