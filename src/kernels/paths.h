// The implementations behind attention_forward, one per instruction set; only dispatch.cpp calls them.
#pragma once

#include "kernels/attention.h"

namespace tessera::kernels {

/// A path: runs a call that `supports` accepted and says which ISA its code is for.
using Path = AttentionRun (*)(const AttentionArgs& args, const ParallelFor& parallel);

namespace scalar {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
}
namespace avx2 {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
}
namespace avx_vnni {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
}
namespace avx512 {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
}
namespace avx512_vnni {
AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel);
}

}  // namespace tessera::kernels
