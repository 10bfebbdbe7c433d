// Attention by LibTorch's own kernels, with what they get wrong repaired around them.
#pragma once

#include "attention/backend.h"

namespace tessera::attention {

/// On a CPU: ATen's flash kernel, on [B, S, H, D] views without copies. Repaired here: LSE of a query without keys (0),
/// a last stride other than 1 (garbage), boolean masks and Dv != D (refused), NaN in a value that no query may see
/// (spreads), both alignments of causal with Sq != Skv. Elsewhere: ATen's own choice, without LSE (Unsupported).
class TorchSdpaBackend : public AttentionBackend {
 public:
  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override;
};

}  // namespace tessera::attention
