// The order of a launch, and what cuDNN's failures mean, without cuDNN.
#include "attention/cudnn/launch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention/cudnn/status.h"

namespace tessera::attention::cudnn {
namespace {

using Log = std::vector<std::string>;

struct FakeHandle {
  Log* log;
  ErrorCode stream_error = ErrorCode::Bug;
  bool stream_fails = false;
  Status set_stream(void* stream) const {
    log->push_back("stream " + std::to_string(reinterpret_cast<intptr_t>(stream)));
    return stream_fails ? Status(fail(stream_error, "fake")) : Status();
  }
};

struct FakeMemory {
  Log* log;
  explicit FakeMemory(Log* l) : log(l) {}
  FakeMemory(FakeMemory&& other) noexcept : log(std::exchange(other.log, nullptr)) {}
  ~FakeMemory() {
    if (log != nullptr) log->push_back("free");
  }
  void* data_ptr() const { return log; }
};

struct FakePlan {
  Log* log;
  Result<int64_t> workspace_bytes() const { return 64; }
  Status execute(const FakeHandle&, int pointers, void* workspace) const {
    log->push_back("execute " + std::to_string(pointers) + (workspace == log ? " with memory" : ""));
    return {};
  }
};

TEST(CudnnLaunch, BindsTheStreamBeforeEveryExecutionAndKeepsTheScratchMemoryUntilItIsQueued) {
  Log log;
  const auto allocate = [&](int64_t bytes) {
    log.push_back("allocate " + std::to_string(bytes));
    return FakeMemory(&log);
  };
  for (const intptr_t stream : {7, 8}) {
    ASSERT_TRUE(launch(FakePlan{&log}, FakeHandle{&log}, reinterpret_cast<void*>(stream), 3, allocate));
  }
  EXPECT_EQ(log, (Log{"allocate 64", "stream 7", "execute 3 with memory", "free", "allocate 64", "stream 8",
                      "execute 3 with memory", "free"}));
}

TEST(CudnnLaunch, ExecutesNothingOnAStreamThatCouldNotBeBound) {
  Log log;
  const FakeHandle handle{&log, ErrorCode::DeviceFault, true};
  const auto done = launch(FakePlan{&log}, handle, nullptr, 3, [&](int64_t) { return FakeMemory(&log); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::DeviceFault);
  EXPECT_EQ(log, (Log{"stream 0", "free"}));
}

TEST(CudnnStatus, OnlyARefusalIsUnsupported) {
  using enum FrontendCode;
  const struct {
    FrontendCode code;
    const char* text;
    ErrorCode want;
  } cases[] = {
      {NotSupported, "No valid engine configs", ErrorCode::Unsupported},
      {Failed, "cudnnBackendFinalize: CUDNN_STATUS_NOT_SUPPORTED", ErrorCode::Unsupported},
      {Failed, "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", ErrorCode::Unsupported},
      {Failed, "cudnnBackendExecute failed: CUDNN_STATUS_EXECUTION_FAILED", ErrorCode::DeviceFault},
      {NotSupported, "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS: NOT_SUPPORTED", ErrorCode::DeviceFault},
      {Failed, "cudaErrorIllegalAddress", ErrorCode::DeviceFault},
      {Failed, "CUDNN_STATUS_INTERNAL_ERROR", ErrorCode::DeviceFault},
      {Failed, "CUDNN_STATUS_ALLOC_FAILED", ErrorCode::OutOfMemory},
      {NotSupported, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", ErrorCode::OutOfMemory},
      {Invalid, "Uid does not exist in variant pack", ErrorCode::Bug},
  };
  for (const auto& c : cases) EXPECT_EQ(error_code(c.code, c.text), c.want) << c.text;
}

}  // namespace
}  // namespace tessera::attention::cudnn
