#include "apps/gpu_check/tools.h"

#include <chrono>
#include <thread>

namespace tessera::gpu_check {
namespace {

class CpuTools final : public DeviceTools {
 public:
  at::Device device() const override { return at::kCPU; }
  void synchronize() override {}
  double seconds(const Work& work) override {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  void on_other_stream(const Work& work) override {
    std::exception_ptr thrown;
    std::thread([&] {
      try {
        work();
      } catch (...) {
        thrown = std::current_exception();
      }
    }).join();
    if (thrown) std::rethrow_exception(thrown);
  }
  Work capture(const Work& work) override {
    work();
    return work;
  }
  bool captures_for_real() const override { return false; }
};

}  // namespace

std::unique_ptr<DeviceTools> make_cpu_tools() {
  return std::make_unique<CpuTools>();
}

}  // namespace tessera::gpu_check
