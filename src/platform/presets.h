// Named devices for `--device`, tests and `explain`: profiles of machines that need not be present.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "platform/device_profile.h"

namespace tessera::platform {

/// Names that `preset` takes, in the order of docs.
const std::vector<std::string>& preset_names();

/// The preset of that name (case does not matter), simulated, with every library installed. Errors: Usage with all
/// names.
Result<DeviceProfile> preset(std::string_view name);

/// Replaces what is installed by exactly these tokens; keeps versions that the profile knew.
void set_libraries(DeviceProfile& profile, const std::vector<std::string>& tokens);

/// Every library token that the policy knows, for "all" and for the message about an unknown one.
const std::vector<std::string>& library_tokens();

}  // namespace tessera::platform
