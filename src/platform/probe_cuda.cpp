// The CUDA half of the probe: the driver's and NVML's C functions, found at run time.
#include <dlfcn.h>

#include <array>
#include <charconv>

#include "base/strings.h"
#include "platform/probe.h"

namespace tessera::platform {
namespace {

// Of cuda.h: attribute numbers are part of the driver's stable interface.
constexpr int kMultiprocessors = 16;
constexpr int kMajor = 75;
constexpr int kMinor = 76;

template <typename Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*version)(int*) = nullptr;
};

Result<Driver> load_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorCode::Unavailable, "libcuda.so.1 is not there", "install the NVIDIA driver, or use --device cpu");
  }
  Driver d;
  d.init = find<decltype(d.init)>(library, "cuInit");
  d.count = find<decltype(d.count)>(library, "cuDeviceGetCount");
  d.get = find<decltype(d.get)>(library, "cuDeviceGet");
  d.name = find<decltype(d.name)>(library, "cuDeviceGetName");
  d.attribute = find<decltype(d.attribute)>(library, "cuDeviceGetAttribute");
  d.memory = find<decltype(d.memory)>(library, "cuDeviceTotalMem_v2");
  d.version = find<decltype(d.version)>(library, "cuDriverGetVersion");
  const bool whole = d.init && d.count && d.get && d.name && d.attribute && d.memory && d.version;
  if (!whole) return fail(ErrorCode::Unavailable, "libcuda.so.1 lacks functions", "update the NVIDIA driver");
  return d;
}

std::string nvml_driver_version() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto init = find<int (*)()>(library, "nvmlInit_v2");
  const auto version = find<int (*)(char*, unsigned)>(library, "nvmlSystemGetDriverVersion");
  std::array<char, 96> text{};
  if (init == nullptr || version == nullptr || init() != 0) return {};
  return version(text.data(), text.size()) == 0 ? std::string(text.data()) : std::string();
}

DeviceProfile describe(const Driver& driver, int ordinal) {
  DeviceProfile out;
  out.kind = DeviceKind::Cuda;
  int device = 0;
  std::array<char, 256> name{};
  std::size_t bytes = 0;
  int cuda = 0;
  if (driver.get(&device, ordinal) != 0) return out;
  if (driver.name(name.data(), name.size(), device) == 0) out.name = name.data();
  driver.attribute(&out.sm.major, kMajor, device);
  driver.attribute(&out.sm.minor, kMinor, device);
  driver.attribute(&out.multiprocessors, kMultiprocessors, device);
  if (driver.memory(&bytes, device) == 0) out.memory_bytes = static_cast<int64_t>(bytes);
  if (driver.version(&cuda) == 0) out.cuda = strings::join(cuda / 1000, ".", cuda % 1000 / 10);
  out.driver = nvml_driver_version();
  out.isa = probe_cpu().isa;
  return out;
}

}  // namespace

Result<std::vector<DeviceProfile>> probe_cuda() {
  TESSERA_TRY(const Driver driver, load_driver());
  int count = 0;
  const int status = driver.init(0);
  if (status != 0 || driver.count(&count) != 0) {
    return fail(ErrorCode::Unavailable, strings::join("the CUDA driver does not start (code ", status, ")"),
                "check the driver with nvidia-smi, or use --device cpu");
  }
  if (count == 0) return fail(ErrorCode::Unavailable, "no CUDA device is visible", "check CUDA_VISIBLE_DEVICES");
  std::vector<DeviceProfile> out;
  for (int i = 0; i < count; ++i) out.push_back(describe(driver, i));
  return out;
}

Result<DeviceProfile> probe_device(std::string_view name) {
  if (name == "cpu") return probe_cpu();
  auto devices = probe_cuda();
  if (name == "auto") return devices ? devices->front() : probe_cpu();
  if (!name.starts_with("cuda") || (name.size() > 4 && name[4] != ':')) {
    return fail(ErrorCode::Usage, strings::join("unknown device '", name, "'"), "use auto, cpu or cuda[:N]");
  }
  if (!devices) return fail(devices.error());
  std::size_t index = 0;
  const char* end = name.data() + name.size();
  const auto read = name.size() > 5 ? std::from_chars(name.data() + 5, end, index) : std::from_chars_result{end, {}};
  if (read.ec != std::errc() || read.ptr != end || index >= devices->size()) {
    return fail(ErrorCode::Unavailable, strings::join("no device '", name, "'"),
                strings::join("there are ", devices->size(), " CUDA devices, counted from 0"));
  }
  return (*devices)[index];
}

}  // namespace tessera::platform
