#include "residency/process_memory.h"

#include <fstream>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tessera::residency {
namespace {

int64_t status_bytes(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size())) * 1024;
  }
  return 0;
}

}  // namespace

int64_t resident_bytes() {
  return status_bytes("VmRSS:");
}

int64_t peak_resident_bytes() {
  return status_bytes("VmHWM:");
}

void return_freed_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace tessera::residency
