// Attention by cuDNN: our own graphs, or LibTorch's wrapper where this build or process has none.
#pragma once

#include <memory>

#include "attention/backend.h"
#include "attention/cudnn/spec.h"

namespace tessera::attention {

/// The spec of a call's tensors as they lie in memory. A bool mask must have been made additive (fp32) before.
cudnn::Spec cudnn_spec(const AttentionInputs& inputs, const AttentionOutputs& outputs);

/// Why the memory itself is not for cuDNN; nothing when it is.
std::optional<std::string> misaligned_memory(const AttentionInputs& inputs, const AttentionOutputs& outputs);

/// Plans are kept by exact spec, cuDNN version and device, handles by thread and device; the work is queued on
/// LibTorch's current stream. The first call of a spec compiles its plan, so make it before a CUDA graph capture.
class CudnnSdpaBackend : public AttentionBackend {
 public:
  CudnnSdpaBackend();
  ~CudnnSdpaBackend() override;
  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override;

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;  // empty where the graphs were not built
};

}  // namespace tessera::attention
