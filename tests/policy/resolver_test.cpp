#include "attention/policy/resolver.h"

#include <gtest/gtest.h>

#include "attention/policy/catalog.h"
#include "tests/policy/policy_cases.h"

namespace tessera::attention {

TEST(Resolver, B200PrefersCudnnUnlessOneSideIsShorterThanATile) {
  const struct {
    int64_t sq, skv;
    BackendId want;
  } cases[] = {{4096, 4096, BackendId::TorchCudnnSdpa},
               {4096, 126, BackendId::Fa4},
               {126, 1536, BackendId::Fa4},
               {126, 126, BackendId::TorchCudnnSdpa},
               {128, 4096, BackendId::TorchCudnnSdpa},
               {127, 128, BackendId::Fa4},
               {75600, 75600, BackendId::TorchCudnnSdpa}};
  for (const auto& c : cases) {
    const Decision d = resolve(dense(c.sq, c.skv), Selection::automatic(), device("b200"));
    ASSERT_TRUE(d.ok()) << d.explain();
    EXPECT_EQ(d.first(), c.want) << d.explain();
    EXPECT_EQ(d.selected, "dynamic_cudnn_sdpa");
  }
}

TEST(Resolver, TheCpuRunsItsOwnKernelAndThenTorch) {
  const Decision d = resolve(dense(77, 77), Selection::automatic(), device("cpu_avx2"));
  ASSERT_EQ(d.candidates.size(), 3U) << d.explain();
  EXPECT_EQ(d.candidates[0].backend, BackendId::CpuFlash);
  EXPECT_EQ(d.candidates[1].backend, BackendId::TorchSdpa);
  EXPECT_EQ(d.candidates[2].backend, BackendId::Reference);
}

TEST(Resolver, EveryRowIsEitherACandidateOrRefused) {
  for (const auto& name : platform::preset_names()) {
    const Decision d = resolve(dense(512, 512), Selection::automatic(), device(name));
    EXPECT_EQ(d.candidates.size() + d.refused.size(), all_backends().size()) << name << "\n" << d.explain();
  }
}

}  // namespace tessera::attention
