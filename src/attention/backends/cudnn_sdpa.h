// Attention by cuDNN: our own graphs, or LibTorch's wrapper where this build or process has none.
#pragma once

#include <memory>

#include "attention/backend.h"
#include "attention/cudnn/spec.h"

namespace tessera::attention {

/// The spec of a call's tensors as they lie in memory. A bool mask must have been made additive (fp32) before.
cudnn::Spec cudnn_spec(const AttentionInputs& inputs, const AttentionOutputs& outputs);

/// Why the memory of the inputs is not for cuDNN; nothing when it is.
std::optional<std::string> misaligned_memory(const AttentionInputs& inputs);

/// One way to cuDNN. The backend prepares and guards: no bool mask, rows of 16 bytes, also of the output, a dense LSE,
/// no empty side. Errors: Unavailable when this process has no cuDNN for it, Unsupported off CUDA devices, else as
/// AttentionBackend.
class CudnnRoute {
 public:
  virtual ~CudnnRoute() = default;
  virtual Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs) = 0;
};

/// Our own graphs. Plans are kept by exact spec, cuDNN version and device, handles by thread and device. The first call
/// of a spec compiles its plan, so make it before a CUDA graph capture. Compiled only with cuDNN's headers.
std::unique_ptr<CudnnRoute> make_cudnn_graph_route();

/// By `graphs` where there are any, else by LibTorch's wrapper.
class CudnnSdpaBackend : public AttentionBackend {
 public:
  explicit CudnnSdpaBackend(std::unique_ptr<CudnnRoute> graphs) : graphs_(std::move(graphs)) {}
  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override;

 private:
  std::unique_ptr<CudnnRoute> graphs_;  // nullptr where the graphs were not built
};

}  // namespace tessera::attention
