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
#include "kernels/linear/tiers.inl"

}  // namespace

LinearPath linear_path() {
  return {packed, pack, run};
}

}  // namespace tessera::kernels::avx_vnni

#pragma GCC pop_options
