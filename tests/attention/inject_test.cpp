// The syntax of --inject, and its lock.
#include "tensor/aten.h"

#include "attention/inject.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::attention {
namespace {

struct AllowInject {
  explicit AllowInject(const char* value) { setenv("TESSERA_ALLOW_INJECT", value, 1); }
  ~AllowInject() { unsetenv("TESSERA_ALLOW_INJECT"); }
};

TEST(Inject, ParsesBackendFaultAndCall) {
  const AllowInject allow("1");
  const auto faults = parse_injections("cpu_flash:oom@3, sdpa:nowrite@1");
  ASSERT_TRUE(faults) << faults.error().line();
  ASSERT_EQ(faults->size(), 2U);
  EXPECT_EQ((*faults)[0].backend, BackendId::CpuFlash);
  EXPECT_EQ((*faults)[0].fault, Fault::Oom);
  EXPECT_EQ((*faults)[0].call, 3);
  EXPECT_EQ((*faults)[1].backend, BackendId::TorchSdpa);
}

TEST(Inject, RefusesEverythingElse) {
  const AllowInject allow("1");
  for (const char* text : {"cpu_flash", "cpu_flash:oom", "cpu_flash@1", "cpu_flash:fire@1", "cpu_flash:oom@0",
                           "cpu_flash:oom@x", "cpu_flash:oom@1x", "fa:oom@1", "auto:oom@1", "strict:fa3:oom@1", "@:"}) {
    const auto faults = parse_injections(text);
    ASSERT_FALSE(faults) << text;
    EXPECT_EQ(faults.error().code, ErrorCode::Usage) << text;
  }
}

TEST(Inject, IsObeyedOnlyWhenTheEnvironmentAllowsIt) {
  EXPECT_FALSE(parse_injections("cpu_flash:oom@1"));
  EXPECT_TRUE(parse_injections("")->empty());
  const AllowInject allow("0");
  EXPECT_FALSE(parse_injections("cpu_flash:oom@1"));
}

}  // namespace
}  // namespace tessera::attention
