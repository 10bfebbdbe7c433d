#include "residency/memory_limits.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include <sys/resource.h>

#include "base/strings.h"

namespace tessera::residency {
namespace {

namespace fs = std::filesystem;

// cgroup v1 says "no limit" with a number near 2^63.
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::optional<int64_t> number(std::string_view text) {
  text = strings::trim(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::optional<int64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  return number(line);
}

/// The number behind `key` at the start of a line: "VmSize:   1234 kB", "inactive_file 4096".
std::optional<int64_t> field_in(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key) && line.size() > key.size() && (line[key.size()] == ' ' || line[key.size()] == '\t')) {
      return number(std::string_view(line).substr(key.size()));
    }
  }
  return std::nullopt;
}

std::optional<int64_t> kilobytes_in(const fs::path& file, const std::string& key) {
  const auto value = field_in(file, key);
  return value ? std::optional(*value * 1024) : std::nullopt;
}

void add(std::vector<MemoryLimit>& limits, std::string name, Counts counts, std::optional<int64_t> limit,
         int64_t used) {
  if (!limit || *limit >= kNoLimit) return;
  limits.push_back({std::move(name), counts, std::max<int64_t>(0, *limit - used)});
}

/// File names of one cgroup version.
struct CgroupFiles {
  const char* limit;
  const char* usage;
  const char* cached;  ///< field of memory.stat: pages of files that the kernel drops first
};
constexpr CgroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr CgroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file"};

/// The limits of a cgroup and of all above it. In a container the path may be one of the host's: then only the mount's
/// own top is there.
void add_cgroups(std::vector<MemoryLimit>& limits, const fs::path& mount, const fs::path& group,
                 const CgroupFiles& files) {
  for (fs::path at = group.lexically_normal().relative_path();; at = at.parent_path()) {
    const fs::path folder = at.empty() ? mount : mount / at;
    const int64_t cached = field_in(folder / "memory.stat", files.cached).value_or(0);
    const int64_t used = number_in(folder / files.usage).value_or(0) - cached;
    add(limits, "the memory limit of the container or cgroup", Counts::Resident, number_in(folder / files.limit), used);
    if (at.empty()) return;
  }
}

void add_all_cgroups(std::vector<MemoryLimit>& limits, const fs::path& root) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const auto names = strings::split(controllers, ',');
    if (controllers.empty()) add_cgroups(limits, root / "sys/fs/cgroup", group, kVersion2);
    if (std::ranges::find(names, "memory") != names.end()) {
      add_cgroups(limits, root / "sys/fs/cgroup/memory", group, kVersion1);
    }
  }
}

std::optional<int64_t> rlimit_bytes(decltype(RLIMIT_AS) which) {
  struct rlimit limit {};
  if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kNoLimit));
}

}  // namespace

MemorySources system_sources() {
  return {"/", rlimit_bytes(RLIMIT_AS), rlimit_bytes(RLIMIT_DATA)};
}

std::vector<MemoryLimit> memory_limits(const MemorySources& sources) {
  std::vector<MemoryLimit> limits;
  const fs::path status = sources.root / "proc/self/status";
  add(limits, "the address-space limit (ulimit -v)", Counts::AddressSpace, sources.address_space_limit_bytes,
      kilobytes_in(status, "VmSize:").value_or(0));
  add(limits, "the data limit (ulimit -d)", Counts::Data, sources.data_limit_bytes,
      kilobytes_in(status, "VmData:").value_or(0));
  add_all_cgroups(limits, sources.root);
  const fs::path meminfo = sources.root / "proc/meminfo";
  const int64_t swap = kilobytes_in(meminfo, "SwapFree:").value_or(0);
  add(limits, "the free memory of this machine", Counts::Resident, kilobytes_in(meminfo, "MemAvailable:"), -swap);
  return limits;
}

}  // namespace tessera::residency
