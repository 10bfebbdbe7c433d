// What the arithmetic units of this machine can do at best: register-only loops, for shares of peak in the bench.
#pragma once

#include "kernels/attention.h"

namespace tessera::kernels {

/// Operations that the tiers are made of; a multiply-add counts as two.
enum class PeakKind { Fp32, Int16, Int8 };

/// Best rate of `threads` cores at once with `isa`, in 1e9 operations a second, out of `rounds` rounds of about five
/// milliseconds; cores at work together may be slower than one alone. Means something on a quiet machine only. 0 for a
/// kind that the path has no instruction for (scalar; bytes without VNNI).
double measure_peak(Isa isa, PeakKind kind, int threads = 1, int rounds = 20);

}  // namespace tessera::kernels
