// The plan cache with plans that are plain numbers.
#include "attention/cudnn/plan_cache.h"

#include <gtest/gtest.h>

namespace tessera::attention::cudnn {
namespace {

PlanKey key(int64_t seq) {
  AttentionProblem p;
  p.seq_q = p.seq_kv = seq, p.heads_q = p.heads_kv = 8, p.head_dim = p.value_dim = 64;
  return {spec_of(p), 91900, 0};
}

TEST(CudnnPlanCache, BuildsOnceForEqualKeysAndAgainForAnyDifference) {
  PlanCache<int> cache;
  int built = 0;
  const auto build = [&] { return Result<int>(++built); };
  EXPECT_EQ(**cache.find_or_build(key(64), build), 1);
  EXPECT_EQ(**cache.find_or_build(key(64), build), 1);
  PlanKey other_scale = key(64), other_stride = key(64), other_version = key(64), other_device = key(64);
  other_scale.spec.scale = 1;
  other_stride.spec.k[2] += 8;
  other_version.version = 92000;
  other_device.device = 1;
  for (const PlanKey& k : {key(65), other_scale, other_stride, other_version, other_device}) {
    cache.find_or_build(k, build);
  }
  EXPECT_EQ(built, 6);
  EXPECT_EQ(cache.size(), 6u);
}

TEST(CudnnPlanCache, RemembersUnsupportedButNotOtherFailures) {
  PlanCache<int> cache;
  int asked = 0;
  const auto failing = [&](ErrorCode code) {
    return [&asked, code] { return ++asked, Result<int>(fail(code, "no")); };
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cache.find_or_build(key(8), failing(ErrorCode::Unsupported)).error().code, ErrorCode::Unsupported);
  }
  EXPECT_EQ(asked, 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cache.find_or_build(key(16), failing(ErrorCode::OutOfMemory)).error().code, ErrorCode::OutOfMemory);
  }
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(**cache.find_or_build(key(16), [] { return Result<int>(7); }), 7);
}

}  // namespace
}  // namespace tessera::attention::cudnn
