#include <cstdlib>

#include <gtest/gtest.h>

#include "runtime/device.h"
#include "runtime/faults.h"
#include "runtime/model_folder.h"

#include "base/check.h"

namespace tessera::runtime {

TEST(Device, TextsThatAreNoDeviceAreWrongUsage) {
  EXPECT_EQ(parse_device("tpu").error().code, ErrorCode::Usage);
  EXPECT_EQ(parse_device("cuda:x").error().code, ErrorCode::Usage);
  EXPECT_EQ(parse_device("cuda:-1").error().code, ErrorCode::Usage);
  EXPECT_TRUE(parse_device("cpu")->is_cpu());
}

TEST(Device, AGpuThatIsNotThereIsUnavailable) {
  EXPECT_EQ(parse_device("cuda:63").error().code, ErrorCode::Unavailable);
}

TEST(Device, ArithmeticIsOneOfThree) {
  const at::Device cpu(at::kCPU);
  EXPECT_EQ(parse_arithmetic("auto", cpu).value(), at::kFloat);
  EXPECT_EQ(parse_arithmetic("bf16", cpu).value(), at::kBFloat16);
  EXPECT_EQ(parse_arithmetic("int8", cpu).error().code, ErrorCode::Usage);
  EXPECT_EQ(parse_arithmetic("int3", cpu).error().code, ErrorCode::Usage);
}

TEST(ModelFolder, AMissingFolderSaysWhatAModelIs) {
  const auto folder = find_model("/no/such/folder");
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().hint.find("model_index.json"), std::string::npos);
}

TEST(ModelFolder, TheEnvironmentNamesAnotherDemo) {
  ::setenv("TESSERA_DEMO_MODEL", "/no/such/demo", 1);
  const auto folder = find_model("demo");
  ::unsetenv("TESSERA_DEMO_MODEL");
  if (!folder) {
    EXPECT_NE(folder.error().what.find("/no/such/demo"), std::string::npos);
  }
}

TEST(Faults, MemoryIsNeverTakenForABug) {
  const auto bad_alloc = caught<int>([]() -> int { throw std::bad_alloc(); });
  EXPECT_EQ(bad_alloc.error().code, ErrorCode::OutOfMemory);
  // A size that no machine has: LibTorch's own allocator speaks.
  const auto allocator = caught<int>([]() -> int { return static_cast<int>(at::empty({int64_t{1} << 50}).dim()); });
  EXPECT_EQ(allocator.error().code, ErrorCode::OutOfMemory);
}

TEST(Faults, ARuntimeFaultKeepsItsError) {
  const auto r = caught<int>([]() -> int { throw RuntimeFault({ErrorCode::Cancelled, "stopped", ""}); });
  EXPECT_EQ(r.error().code, ErrorCode::Cancelled);
}

TEST(Faults, LibraryErrorsAreOneLine) {
  const auto r = caught<int>([]() -> int { return static_cast<int>(at::zeros({2}).view({3}).dim()); });
  EXPECT_EQ(r.error().code, ErrorCode::Bug);
  EXPECT_EQ(r.error().line().find('\n'), std::string::npos);
}

}  // namespace tessera::runtime
