// Linear layers in integer arithmetic on CPUs: the torch-free entry for nn/linear and the tests.
//
// Tier Fast: 8-bit numbers (W8A8); tier High: 13-bit numbers with exact sums. Each run of `group` input channels has a
// scale of its own per row of x and per output channel, so that an outlier spoils only its group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernels/attention.h"
#include "kernels/parallel_for.h"

namespace tessera::kernels {

/// What happens to x W^T + b before it is stored.
enum class LinearAfter { Nothing, GeluTanh };

/// Weights as they are stored, [out, in], last stride 1.
struct LinearWeights {
  DType dtype = DType::F32;  ///< F32, BF16 or F16
  const void* data = nullptr;
  int64_t out_stride = 0;  ///< elements from one output channel to the next
  int64_t in = 0;
  int64_t out = 0;
};

/// out = after(x W^T + bias). Plain data; nothing is owned. out and x must not overlap.
struct LinearArgs {
  Tier tier = Tier::Fast;    ///< High or Fast
  Isa isa = Isa::Auto;       ///< of the packed weights
  DType dtype = DType::F32;  ///< of x and out: F32, BF16 or F16
  int64_t rows = 0, in = 0, out_channels = 0;
  const void* x = nullptr;  ///< [rows, in], last stride 1
  int64_t x_stride = 0;
  void* out = nullptr;  ///< [rows, out_channels], last stride 1
  int64_t out_stride = 0;
  const std::byte* packed = nullptr;  ///< of pack_linear with the same tier, isa, in and out
  const float* bias = nullptr;        ///< [out_channels], or nothing
  LinearAfter after = LinearAfter::Nothing;
  uint8_t* refused = nullptr;  ///< [rows], set to 1 for rows that have to be computed in floating point, else 0
};

/// What really ran.
struct LinearRun {
  Status status = Status::Ok;
  Isa isa = Isa::Auto;
  int64_t refused_rows = 0;  ///< rows with infinities, NaN or magnitudes from 1e18 on; their output is not written
};

/// The instruction set that integer linears take here: `isa`, or for Auto the active one (TESSERA_FORCE_ISA obeyed).
/// Isa::Auto when it has no path: integers gain nothing without VNNI (docs/performance.md).
Isa linear_isa(Isa isa = Isa::Auto);

/// Bytes of the packed weights of a layer; 0 when `isa` has no path or a size is not positive.
int64_t packed_linear_bytes(Tier tier, Isa isa, int64_t in, int64_t out);

/// Quantises and packs weights into `packed` (packed_linear_bytes, 64-byte aligned).
/// Returns: false when a weight is not finite or from 1e18 on; the layer stays in floating point then.
bool pack_linear(Tier tier, Isa isa, const LinearWeights& weights, std::byte* packed, const ParallelFor& parallel = {});

/// Runs one layer. Each row depends on that row alone, and the result does not depend on the number of threads.
/// Groups of inputs whose magnitude is below 1e-30 count as zeros.
LinearRun linear_forward(const LinearArgs& args, const ParallelFor& parallel = {});

}  // namespace tessera::kernels
