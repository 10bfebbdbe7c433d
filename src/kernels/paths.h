// The implementations behind attention_forward, one per instruction set; only dispatch.cpp calls them.
#pragma once

#include "kernels/attention.h"
#include "kernels/peak.h"

namespace tessera::kernels {

/// A path: runs a call that `supports` accepted and says which ISA its code is for.
using Path = AttentionRun (*)(const AttentionArgs& args, const ParallelFor& parallel);

/// A register-only loop of `steps` steps; returns the operations of one step.
using PeakLoop = int64_t (*)(PeakKind kind, int64_t steps);

namespace scalar {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
}
namespace avx2 {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace avx2
namespace avx_vnni {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace avx_vnni
namespace avx512 {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace avx512
namespace avx512_vnni {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
int64_t peak_loop(PeakKind kind, int64_t steps);
}  // namespace avx512_vnni

}  // namespace tessera::kernels
