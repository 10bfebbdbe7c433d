// Device profiles as JSON, and the three ways in which `--device` names one.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "platform/device_profile.h"

namespace tessera::platform {

/// All fields; versions of libraries as {"cudnn": "9.19.0"}, empty where unknown.
OrderedJson to_json(const DeviceProfile& profile);

/// Reads what to_json wrote. Only "kind" ("cpu", "cuda") must be there, and "sm" ("10.3") for CUDA. `libraries` may be
/// a list of tokens; `simulated` is true when absent. Errors: BadFile naming the field.
Result<DeviceProfile> profile_from_json(const Json& object);

/// "10.3" or "sm103" or "sm_103". Errors: Usage.
Result<Capability> parse_capability(std::string_view text);

/// A preset's name, or a path ending in .json. `auto` and real devices are the probe's. Errors: Usage (no such preset),
/// NotFound, BadFile.
Result<DeviceProfile> named_profile(std::string_view name);

}  // namespace tessera::platform
