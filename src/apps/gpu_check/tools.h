// What a GPU has and the dry run on a CPU imitates: clocks, streams, graphs. For the parts of gpu_check.
#pragma once

#include "tensor/aten.h"

#include <functional>
#include <memory>

#include "base/result.h"
#include "kernels/fused/fused.h"

namespace tessera::gpu_check {

using Work = std::function<void()>;

class DeviceTools {
 public:
  virtual ~DeviceTools() = default;
  virtual at::Device device() const = 0;

  /// Waits for everything that was queued. Throws what a kernel left behind.
  virtual void synchronize() = 0;

  /// Seconds that the device spends on `work`.
  virtual double seconds(const Work& work) = 0;

  /// Calls `work` with another stream as this thread's current one. Nothing waits for what it queues.
  virtual void on_other_stream(const Work& work) = 0;

  /// Records `work` as a graph; each call of the answer runs the graph and waits for it.
  virtual Work capture(const Work& work) = 0;

  /// True where `capture` really records: backends can then see that a capture is on.
  virtual bool captures_for_real() const = 0;

  /// The fused kernels on the current stream; the status that they return. A CPU has nothing to compare with its own.
  virtual int qk_norm_rope(const kernels::fused::QkNormRope&) { return kNoKernel; }
  virtual int modulate(const kernels::fused::Modulate&) { return kNoKernel; }
  static constexpr int kNoKernel = -1;
};

/// The imitation: other streams are other threads, a graph is the work itself.
std::unique_ptr<DeviceTools> make_cpu_tools();

/// The first CUDA device. Errors: Unavailable in builds without CUDA, or without a device.
Result<std::unique_ptr<DeviceTools>> make_cuda_tools();

}  // namespace tessera::gpu_check
