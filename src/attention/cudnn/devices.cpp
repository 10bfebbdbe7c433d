// The built-in descriptions; their JSON files stand in devices/ and are compiled in.
#include "attention/cudnn/devices.h"

#include <utility>

#include "base/json.h"
#include "base/strings.h"

namespace tessera::attention::cudnn {

/// (name, JSON) of every file in devices/, written by the build.
extern const std::vector<std::pair<std::string, std::string>>& device_files();

std::vector<std::string> described_devices() {
  std::vector<std::string> names;
  for (const auto& [name, json] : device_files()) names.push_back(name);
  return names;
}

Result<DeviceDescription> describe_device(std::string_view preset) {
  // An H100 differs from an H200 in memory only, which the choice of engine does not depend on.
  const std::string wanted = preset == "h100" ? "h200" : std::string(preset);
  for (const auto& [name, text] : device_files()) {
    if (name != wanted) continue;
    TESSERA_TRY(const Json json, json::parse(text, name));
    TESSERA_TRY(const int version, json::value_or<int>(json, "deviceVer", 0));
    // deviceVer is major * 100 + minor * 10: 1030 for 10.3.
    return DeviceDescription{name, text, version / 10, wanted == preset ? "" : std::string(preset)};
  }
  return fail(ErrorCode::NotFound, strings::join("no cuDNN description of device '", preset, "'"),
              strings::join("described are: h100, ", strings::list(described_devices())));
}

}  // namespace tessera::attention::cudnn
