// What a machine can do, as plain data: filled by a probe, a preset or JSON, read by the attention policy and by
// doctor.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace tessera::platform {

enum class DeviceKind { Cpu, Cuda };

/// CUDA compute capability, e.g. 10.3; 0.0 on a CPU.
struct Capability {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Capability&) const = default;
};

/// One device with what is installed beside it. Two profiles that compare equal get equal decisions.
struct DeviceProfile {
  std::string name;  ///< "b200", "cpu_avx2", or the product name that a probe read
  DeviceKind kind = DeviceKind::Cpu;
  Capability sm;              ///< CUDA only
  int multiprocessors = 0;    ///< CUDA only; 0 when unknown
  std::string driver;         ///< version of the CUDA driver, empty when unknown
  std::string cuda;           ///< version of the CUDA runtime, empty when unknown
  std::set<std::string> isa;  ///< of the host CPU: "avx2", "fma", "f16c", "avx512f", "avx512_bf16", "neon", …
  int64_t memory_bytes = 0;   ///< of the device; 0 when unknown
  /// Libraries and feature bits by token, with the version where one is known: {"cudnn", "9.19.0"}, {"sage_sm90_fix",
  /// ""}.
  std::map<std::string, std::string> libraries;
  std::set<std::string> built;  ///< names of the backends in this build; ignored when `simulated`
  bool simulated = false;       ///< a preset or a file: everything that `libraries` names counts as built

  bool operator==(const DeviceProfile&) const = default;

  bool is_cuda() const { return kind == DeviceKind::Cuda; }
  bool is_cpu() const { return kind == DeviceKind::Cpu; }
  bool has(std::string_view library) const { return libraries.contains(std::string(library)); }
  bool has_isa(std::string_view name_of_isa) const { return isa.contains(std::string(name_of_isa)); }
  /// 10.0 and 10.3, not 12.x: consumer Blackwell has other tensor instructions and other kernels.
  bool is_blackwell() const { return is_cuda() && sm.major == 10; }
  bool is_hopper() const { return is_cuda() && sm == Capability{9, 0}; }
  bool is_sm12x() const { return is_cuda() && sm.major == 12; }
};

}  // namespace tessera::platform
