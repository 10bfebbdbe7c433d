#include "platform/simulate.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"
#include "platform/presets.h"
#include "platform/profile_json.h"

namespace tessera::platform {
namespace {

Status set_device(DeviceProfile& p, const std::string& value) {
  if (auto named = preset(value)) {
    p = std::move(*named);
    return {};
  }
  const auto sm = parse_capability(value);
  if (!sm) {
    return fail(ErrorCode::Usage, strings::join("--simulate: '", value, "' is no device"),
                strings::join("name a preset (", strings::list(preset_names()), ") or a capability like sm120"));
  }
  if (!p.is_cuda()) p = preset("b200").value();
  p.sm = *sm;
  p.name = strings::join("sm", sm->major, sm->minor);
  return {};
}

Status set_memory(DeviceProfile& p, const std::string& value) {
  double gib = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), gib);
  if (read.ec != std::errc() || read.ptr != value.data() + value.size() || gib <= 0 || gib > 1e6) {
    return fail(ErrorCode::Usage, strings::join("--simulate: memory_gib=", value, " is no size"),
                "write memory_gib=24");
  }
  p.memory_bytes = static_cast<int64_t>(gib * static_cast<double>(int64_t{1} << 30));
  return {};
}

Status set_library(DeviceProfile& p, const std::string& token, const std::string& value) {
  const auto& known = library_tokens();
  if (std::ranges::find(known, token) == known.end()) {
    return fail(ErrorCode::Usage, strings::join("--simulate: unknown key '", token, "'"),
                strings::join("keys: device, sm, cuda, driver, memory_gib, isa, libraries, ", strings::list(known)));
  }
  if (value == "none" || value == "no") {
    p.libraries.erase(token);
  } else {
    p.libraries[token] = value == "yes" ? std::string() : value;
  }
  return {};
}

Status apply(DeviceProfile& p, const std::string& key, const std::string& value) {
  if (key == "device") return set_device(p, value);
  if (key == "memory_gib") return set_memory(p, value);
  if (key == "cuda") {
    p.cuda = value;
  } else if (key == "driver") {
    p.driver = value;
  } else if (key == "sm") {
    TESSERA_TRY(p.sm, parse_capability(value));
  } else if (key == "isa") {
    const auto names = strings::split(value, '+');
    p.isa = {names.begin(), names.end()};
  } else if (key == "libraries") {
    set_libraries(p, strings::split(value, '+'));
  } else {
    return set_library(p, key, value);
  }
  return {};
}

}  // namespace

Result<DeviceProfile> simulate(DeviceProfile profile, std::string_view changes) {
  if (!strings::trim(changes).empty()) profile.simulated = true;
  for (const std::string& entry : strings::split(changes, ',')) {
    if (strings::trim(entry).empty()) continue;
    const auto equals = entry.find('=');
    const std::string key = strings::lower(strings::trim(entry.substr(0, equals)));
    if (equals == std::string::npos || key.empty()) {
      return fail(ErrorCode::Usage, strings::join("--simulate: '", entry, "' is no KEY=VALUE"), "e.g. cudnn=9.14.0");
    }
    TESSERA_TRY_OK(apply(profile, key, std::string(strings::trim(entry.substr(equals + 1)))));
  }
  return profile;
}

}  // namespace tessera::platform
