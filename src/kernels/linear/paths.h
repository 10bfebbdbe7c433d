// The implementations behind linear_forward, one per instruction set; only linear.cpp calls them.
#pragma once

#include <optional>

#include "kernels/linear/linear.h"

namespace tessera::kernels {

struct LinearPath {
  int64_t (*packed_bytes)(Tier tier, int64_t in, int64_t out);
  bool (*pack)(Tier tier, const LinearWeights& weights, std::byte* packed, const ParallelFor& parallel);
  LinearRun (*run)(const LinearArgs& args, const ParallelFor& parallel);
};

/// The path of an instruction set that has one; arch/ knows.
std::optional<LinearPath> linear_path_of(Isa isa);

namespace avx_vnni {
LinearPath linear_path();
}
namespace avx512_vnni {
LinearPath linear_path();
}

}  // namespace tessera::kernels
