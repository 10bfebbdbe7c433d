#include "apps/cli/machine.h"

#include <filesystem>
#include <fstream>

#include "attention/backends/factory.h"
#include "platform/profile_json.h"

namespace tessera::cli {
namespace {

/// The folder "torch" of the library that this process runs on, read from its own memory map; empty when it is
/// elsewhere.
std::filesystem::path torch_folder() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.find('/');
    if (slash == std::string::npos || line.find("libtorch_cpu") == std::string::npos) continue;
    return std::filesystem::path(line.substr(slash)).parent_path().parent_path();
  }
  return {};
}

bool names_this_machine(const std::string& name) {
  return name == "auto" || name == "cpu" || name == "cuda" || name.starts_with("cuda:");
}

}  // namespace

std::vector<platform::FoundLibrary> installed_libraries() {
  return platform::probe_libraries(torch_folder());
}

Result<platform::DeviceProfile> machine_profile(const std::string& name) {
  TESSERA_TRY(auto profile, platform::probe_device(name));
  for (const auto& library : installed_libraries()) profile.libraries[library.token] = library.version;
  attention::add_process_backends(profile);
  return profile;
}

Result<platform::DeviceProfile> device_profile(const std::string& name) {
  return names_this_machine(name) ? machine_profile(name) : platform::named_profile(name);
}

}  // namespace tessera::cli
