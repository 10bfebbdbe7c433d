// What the present machine is: CPU, CUDA device through the driver, and the libraries that backends need.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "platform/device_profile.h"

namespace tessera::platform {

/// The machine's CPU with its instruction sets and memory. `built` is left empty: the program fills it in.
DeviceProfile probe_cpu();

/// CUDA devices that the driver shows, without CUDA headers: libcuda.so.1 is opened at run time.
/// Errors: Unavailable with the reason ("libcuda.so.1 is not there", "no device", a stub).
Result<std::vector<DeviceProfile>> probe_cuda();

/// `auto`: the first CUDA device if any, else the CPU. `cpu`, `cuda`, `cuda:N`. Errors: Unavailable, Usage.
Result<DeviceProfile> probe_device(std::string_view name);

/// A library that was found.
struct FoundLibrary {
  std::string token;    ///< of DeviceProfile::libraries
  std::string version;  ///< empty when it does not say
  std::string where;
};

/// Searches the Python package folders (beside `torch_folder`, of $VIRTUAL_ENV and of $PYTHONPATH) and the loader's
/// path. Packages are looked at as files: nothing of them is loaded, but libcudnn's version function.
std::vector<FoundLibrary> probe_libraries(const std::filesystem::path& torch_folder);

/// The same in given package folders only; for tests.
std::vector<FoundLibrary> probe_packages(const std::vector<std::filesystem::path>& folders);

}  // namespace tessera::platform
