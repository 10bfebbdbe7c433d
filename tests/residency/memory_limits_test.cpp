// Limits from made-up system files, and from this process.
#include "residency/memory_limits.h"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "residency/process_memory.h"
#include "tests/support/temporary_folder.h"

namespace tessera::residency {
namespace {

class MemoryLimits : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::vector<int64_t> available(Counts counts, MemorySources sources = {}) {
    sources.root = root_.path();
    std::vector<int64_t> bytes;
    for (const MemoryLimit& limit : memory_limits(sources)) {
      if (limit.counts == counts) bytes.push_back(limit.available_bytes);
    }
    return bytes;
  }
  test::TemporaryFolder root_;
};

using V = std::vector<int64_t>;

TEST_F(MemoryLimits, WithoutReadableFilesThereIsNoLimit) {
  EXPECT_TRUE(available(Counts::Resident).empty());
  EXPECT_TRUE(available(Counts::AddressSpace).empty());
}

TEST_F(MemoryLimits, RlimitsCountWhatIsAlreadyTaken) {
  put("proc/self/status", "Name:\tx\nVmSize:\t    1000 kB\nVmData:\t     100 kB\n");
  EXPECT_EQ(available(Counts::AddressSpace, {{}, 2048000, {}}), V{1024000});
  EXPECT_EQ(available(Counts::Data, {{}, {}, 204800}), V{102400});
  EXPECT_EQ(available(Counts::AddressSpace, {{}, 1000, {}}), V{0});
}

TEST_F(MemoryLimits, FreeMemoryIncludesSwap) {
  put("proc/meminfo", "MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable:   10 kB\nSwapFree: 5 kB\n");
  EXPECT_EQ(available(Counts::Resident), V{15 * 1024});
}

TEST_F(MemoryLimits, EveryCgroupAboveTheProcessCounts) {
  put("proc/self/cgroup", "0::/a/b\n");
  put("sys/fs/cgroup/a/b/memory.max", "max\n");
  put("sys/fs/cgroup/a/memory.max", "5000\n");
  put("sys/fs/cgroup/a/memory.current", "3000\n");
  put("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 500\n");
  EXPECT_EQ(available(Counts::Resident), V{2500});
}

TEST_F(MemoryLimits, TheOlderCgroupFilesAreRead) {
  put("proc/self/cgroup", "5:cpu,cpuacct:/c\n4:memory:/host/path/that/is/not/here\n0::/\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9000\n");
  put("sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(available(Counts::Resident), V{8000});
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_TRUE(available(Counts::Resident).empty());
}

TEST_F(MemoryLimits, DamagedFilesSetNoLimit) {
  put("proc/self/cgroup", "rubbish\n0\n::\n:memory:\n0::/../../x\n");
  put("proc/meminfo", "MemAvailable: many kB\n");
  put("sys/fs/cgroup/memory.max", "");
  EXPECT_TRUE(available(Counts::Resident).empty());
}

TEST(ProcessMemory, ThisProcessHasMemoryAndTheMachineSomeLeft) {
  EXPECT_GT(resident_bytes(), 1 << 20);
  EXPECT_GE(peak_resident_bytes(), resident_bytes());
  return_freed_memory();
  const auto limits = memory_limits();
  EXPECT_TRUE(std::ranges::any_of(limits, [](const MemoryLimit& l) { return l.available_bytes > 0; }));
}

}  // namespace
}  // namespace tessera::residency
