// What goes down with one request: progress, cancel, trace, attention. Nothing lower calls upward through anything
// else.
#pragma once

#include "tensor/aten.h"

#include <atomic>
#include <chrono>

#include "base/check.h"
#include "tensor/trace.h"
#include "weights/weight_map.h"

namespace tessera::attention {
class AttentionEngine;
}

namespace tessera::pipeline {

/// Told about the stages of a request ("encode", "denoise", "decode") as they go.
class Progress {
 public:
  virtual ~Progress() = default;
  virtual void begin(std::string_view stage, int64_t total) = 0;
  virtual void advance(std::string_view stage, int64_t done) = 0;
  /// After each denoise step; `decode` makes the picture of the present latents, [F, H, W, 3] uint8, when called.
  virtual void after_step(int64_t step, const std::function<at::Tensor()>& decode) {
    (void)step;
    (void)decode;
  }
};

/// Seconds spent in each stage of one request.
struct Timings {
  double load = 0;
  double encode = 0;
  std::vector<double> denoise;  ///< one entry a step
  double decode = 0;
};

struct Context {
  attention::AttentionEngine* engine = nullptr;
  tensor::Trace* trace = nullptr;
  Progress* progress = nullptr;
  const std::atomic<bool>* cancelled = nullptr;
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;                         ///< arithmetic of the models
  weights::LinearTier linears = weights::LinearTier::Exact;  ///< of the transformers' large layers
  Timings timings;

  /// Throws RuntimeFault{Cancelled} when the user asked to stop; called between steps and stages.
  void check_cancelled() const {
    if (cancelled != nullptr && cancelled->load()) {
      throw RuntimeFault({ErrorCode::Cancelled, "stopped by the user", "nothing was written"});
    }
  }
  void record(const std::string& name, const at::Tensor& value) const {
    if (trace != nullptr) trace->record(name, value);
  }
};

}  // namespace tessera::pipeline
