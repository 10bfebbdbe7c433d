// Events, streams and graphs of the CUDA runtime; LibTorch owns the memory that a graph keeps.
#include "apps/gpu_check/tools.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

namespace tessera::gpu_check {
namespace {

/// A pair of events around the work of the current stream.
class Stopwatch {
 public:
  Stopwatch() {
    C10_CUDA_CHECK(cudaEventCreate(&start_));
    C10_CUDA_CHECK(cudaEventCreate(&stop_));
  }
  ~Stopwatch() { cudaEventDestroy(start_), cudaEventDestroy(stop_); }
  Stopwatch(const Stopwatch&) = delete;

  double seconds(const Work& work) {
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
    C10_CUDA_CHECK(cudaEventRecord(start_, stream));
    work();
    C10_CUDA_CHECK(cudaEventRecord(stop_, stream));
    C10_CUDA_CHECK(cudaEventSynchronize(stop_));
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

class CudaTools final : public DeviceTools {
 public:
  at::Device device() const override { return {at::kCUDA, 0}; }
  void synchronize() override { c10::cuda::device_synchronize(); }
  double seconds(const Work& work) override { return Stopwatch().seconds(work); }

  void on_other_stream(const Work& work) override {
    const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
    work();
  }

  Work capture(const Work& work) override {
    // Shared: the answer is copied about as a std::function and owns the graph.
    const auto graph = std::make_shared<at::cuda::CUDAGraph>();
    synchronize();
    {
      const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
      graph->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      work();
      graph->capture_end();
    }
    return [this, graph] {
      graph->replay();
      synchronize();
    };
  }
  bool captures_for_real() const override { return true; }

  int qk_norm_rope(const kernels::fused::QkNormRope& args) override {
    return kernels::fused::qk_norm_rope_cuda(args, c10::cuda::getCurrentCUDAStream().stream());
  }
  int modulate(const kernels::fused::Modulate& args) override {
    return kernels::fused::modulate_cuda(args, c10::cuda::getCurrentCUDAStream().stream());
  }
};

}  // namespace

Result<std::unique_ptr<DeviceTools>> make_cuda_tools() {
  if (!at::hasCUDA() || c10::cuda::device_count() < 1) {
    return fail(ErrorCode::Unavailable, "LibTorch sees no CUDA device", "run it where nvidia-smi shows one");
  }
  return std::make_unique<CudaTools>();
}

}  // namespace tessera::gpu_check
