// Which exception becomes which error.
#include "tensor/aten.h"

#include "attention/guard.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace tessera::attention {
namespace {

const c10::SourceLocation kHere = {"f", "file.cpp", 1};

template <typename Throw>
Error converted(Throw throw_it) {
  const Status done = guarded("backend_x", [&]() -> Status {
    throw_it();
    return {};
  });
  EXPECT_FALSE(done);
  return done ? Error{} : done.error();
}

TEST(Guard, TellsMemoryFromRefusalsAndDeviceFailures) {
  const struct {
    const char* message;
    ErrorCode want;
  } cases[] = {
      {"CUDA out of memory. Tried to allocate 20.00 MiB", ErrorCode::OutOfMemory},
      {"cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", ErrorCode::OutOfMemory},
      {"CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported", ErrorCode::OutOfMemory},
      {"[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
       "allocate "
       "9 bytes",
       ErrorCode::OutOfMemory},
      {"CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", ErrorCode::OutOfMemory},
      {"CUDA error: an illegal memory access was encountered", ErrorCode::DeviceFault},
      {"CUDA error: device-side assert triggered", ErrorCode::DeviceFault},
      {"CUDA error: operation not supported", ErrorCode::DeviceFault},
      {"cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", ErrorCode::DeviceFault},
      {"cuDNN error: CUDNN_STATUS_NOT_SUPPORTED", ErrorCode::Unsupported},
      {"CUDA error: no kernel image is available for execution on the device", ErrorCode::Unsupported},
      {"No available kernel. Aborting execution.", ErrorCode::Unsupported},
      {"FlashAttention only supports fp16 and bf16", ErrorCode::Unsupported},
      {"\"flash\" not implemented for 'Double'", ErrorCode::Unsupported},
      {"expected 4 dimensions", ErrorCode::Bug},
  };
  for (const auto& c : cases) EXPECT_EQ(classify_message(c.message), c.want) << c.message;
}

TEST(Guard, ConvertsTheTypesOfTheLibraries) {
  EXPECT_EQ(converted([] { throw std::bad_alloc(); }).code, ErrorCode::OutOfMemory);
  EXPECT_EQ(converted([] { throw c10::OutOfMemoryError(kHere, "no room"); }).code, ErrorCode::OutOfMemory);
  EXPECT_EQ(converted([] { throw c10::NotImplementedError(kHere, "x"); }).code, ErrorCode::Unsupported);
  EXPECT_EQ(converted([] { throw c10::AcceleratorError(kHere, 700, "something"); }).code, ErrorCode::DeviceFault);
  EXPECT_EQ(converted([] { throw std::runtime_error("head 80 is not supported"); }).code, ErrorCode::Unsupported);
  EXPECT_EQ(converted([] { throw Bug("broken"); }).code, ErrorCode::Bug);
  EXPECT_EQ(converted([] { throw 7; }).code, ErrorCode::Bug);
  EXPECT_EQ(converted([] { throw RuntimeFault({ErrorCode::Cancelled, "stopped", ""}); }).code, ErrorCode::Cancelled);
}

TEST(Guard, ConvertsWhatLibTorchReallyThrowsOnExhaustedMemory) {
  const Error error = converted([] { at::empty({int64_t{1} << 50}, at::kFloat); });
  EXPECT_EQ(error.code, ErrorCode::OutOfMemory) << error.line();
}

TEST(Guard, NamesTheBackendAndKeepsOneLine) {
  const Error error = converted([] { throw std::runtime_error("first\nsecond"); });
  EXPECT_NE(error.what.find("backend_x"), std::string::npos);
  EXPECT_EQ(error.what.find('\n'), std::string::npos);
  EXPECT_FALSE(error.hint.empty());
}

TEST(Guard, LeavesErrorsOfTheBodyAsTheyAre) {
  const Status done = guarded("x", []() -> Status { return fail(ErrorCode::Misuse, "what", "hint"); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Misuse);
}

}  // namespace
}  // namespace tessera::attention
