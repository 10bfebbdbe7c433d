// `--simulate KEY=VALUE,…`: changes to a device profile, so that the policy for other machines runs anywhere.
#pragma once

#include <string_view>

#include "base/result.h"
#include "platform/device_profile.h"

namespace tessera::platform {

/// Keys: `device` (a preset or sm103), `sm`, `cuda`, `driver`, `memory_gib`, `isa` (avx2+fma), `libraries` (a+b:
/// exactly these), and every library token with a version, `yes` or `none`. The result is simulated. Errors: Usage
/// naming the entry.
Result<DeviceProfile> simulate(DeviceProfile profile, std::string_view changes);

}  // namespace tessera::platform
