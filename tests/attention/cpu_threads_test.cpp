// The kernels' tasks really run on LibTorch's threads. Without OpenMP at compile time at::parallel_for is a plain loop,
// every result stays right and half of the machine idles: only this test notices.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <atomic>

#include "attention/backends/cpu_kernel.h"

namespace tessera::attention {
namespace {

struct Seen {
  std::atomic<int> tasks = 0;
  std::atomic<int> inside_a_team = 0;
};

void look_around(void* data, int64_t) {
  Seen& seen = *static_cast<Seen*>(data);
  ++seen.tasks;
  if (at::in_parallel_region()) ++seen.inside_a_team;
}

TEST(CpuThreads, TasksRunInATeamOfThreads) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  const kernels::ParallelFor threads = aten_threads();
  Seen seen;
  threads(8, look_around, &seen);
  at::set_num_threads(before);
  EXPECT_EQ(threads.threads, 2);
  EXPECT_EQ(seen.tasks, 8);
  EXPECT_EQ(seen.inside_a_team, 8);
}

}  // namespace
}  // namespace tessera::attention
