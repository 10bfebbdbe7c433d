// The CPU half of the probe.
#include <unistd.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <array>
#include <fstream>

#include "base/strings.h"
#include "platform/probe.h"

namespace tessera::platform {
namespace {

std::set<std::string> instruction_sets() {
#if defined(__x86_64__)
  std::set<std::string> out;
  const auto add = [&](bool present, const char* name) {
    if (present) out.emplace(name);
  };
  // The builtin asks the operating system too: registers that it does not save do not count.
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("f16c"), "f16c");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  add(__builtin_cpu_supports("avx512bw"), "avx512bw");
  add(__builtin_cpu_supports("avx512dq"), "avx512dq");
  add(__builtin_cpu_supports("avx512vl"), "avx512vl");
  add(__builtin_cpu_supports("avx512vnni"), "avx512_vnni");
  add(__builtin_cpu_supports("avx512bf16"), "avx512_bf16");
  add(__builtin_cpu_supports("avxvnni"), "avx_vnni");
  add(__builtin_cpu_supports("amx-int8"), "amx_int8");
  add(__builtin_cpu_supports("amx-bf16"), "amx_bf16");
  return out;
#elif defined(__aarch64__)
  std::set<std::string> out = {"neon"};
  constexpr unsigned long kHasI8mm = 1UL << 13;  // HWCAP2_I8MM; older headers lack the name
  if ((getauxval(AT_HWCAP2) & kHasI8mm) != 0) out.emplace("i8mm");
  return out;
#else
  return {};
#endif
}

std::string model_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    return std::string(strings::trim(line.substr(line.find(':') + 1)));
  }
  return "cpu";
}

}  // namespace

DeviceProfile probe_cpu() {
  DeviceProfile out;
  out.name = model_name();
  out.isa = instruction_sets();
  out.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  return out;
}

}  // namespace tessera::platform
