// The machine in use as a device profile: what the probe finds and what this build contains.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "platform/device_profile.h"
#include "platform/probe.h"

namespace tessera::cli {

/// The profile of `name` (auto, cpu, cuda[:N]) with its libraries and built backends. Errors: Usage, Unavailable.
Result<platform::DeviceProfile> machine_profile(const std::string& name);

/// The same, or a preset, or a profile file: everything that `explain --device` takes.
Result<platform::DeviceProfile> device_profile(const std::string& name);

/// Libraries beside the LibTorch in use and where Python and the loader look.
std::vector<platform::FoundLibrary> installed_libraries();

}  // namespace tessera::cli
