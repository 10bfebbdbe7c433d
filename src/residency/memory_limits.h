// How much more memory this process may take, and which limit says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tessera::residency {

/// What a limit counts.
enum class Counts {
  AddressSpace,  ///< every mapping, also of weight files (ulimit -v)
  Data,          ///< private writable memory: copies and activations, not mapped files (ulimit -d)
  Resident,      ///< pages in physical memory
};

struct MemoryLimit {
  std::string name;  ///< for messages: "the address-space limit (ulimit -v)"
  Counts counts = Counts::Resident;
  int64_t available_bytes = 0;  ///< what is left; never negative
};

/// Where the numbers come from; tests give their own.
struct MemorySources {
  std::filesystem::path root = "/";  ///< below it: proc/meminfo, proc/self/status, proc/self/cgroup, sys/fs/cgroup
  std::optional<int64_t> address_space_limit_bytes;
  std::optional<int64_t> data_limit_bytes;
};

/// The sources of this process: its rlimits and the system's own files.
MemorySources system_sources();

/// Every limit that applies now: rlimits less present use, each cgroup (v1 or v2) above the process less its use
/// without cached files, and what the machine has free (with swap). A file that cannot be read sets no limit.
std::vector<MemoryLimit> memory_limits(const MemorySources& sources = system_sources());

}  // namespace tessera::residency
