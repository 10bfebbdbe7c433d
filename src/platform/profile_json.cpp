#include "platform/profile_json.h"

#include <charconv>

#include "base/strings.h"
#include "platform/presets.h"

namespace tessera::platform {
namespace {

std::string text_of(Capability c) {
  return strings::join(c.major, ".", c.minor);
}

Result<Capability> capability_field(const Json& object) {
  const auto it = object.find("sm");
  if (it == object.end()) return fail(ErrorCode::BadFile, "a CUDA profile needs 'sm'", "write \"sm\": \"10.0\"");
  if (it->is_string()) return parse_capability(it->get<std::string>());
  if (it->is_array() && it->size() == 2 && it->at(0).is_number_integer() && it->at(1).is_number_integer()) {
    return Capability{it->at(0).get<int>(), it->at(1).get<int>()};
  }
  return fail(ErrorCode::BadFile, strings::join("field 'sm' is ", it->dump()), "write \"sm\": \"10.0\"");
}

Result<std::map<std::string, std::string>> libraries_field(const Json& value) {
  std::map<std::string, std::string> out;
  if (value.is_array()) {
    for (const Json& token : value) {
      if (!token.is_string()) return fail(ErrorCode::BadFile, "field 'libraries' lists something that is no text");
      out[token.get<std::string>()];
    }
    return out;
  }
  if (!value.is_object()) return fail(ErrorCode::BadFile, "field 'libraries' is neither a list nor an object");
  for (const auto& [token, version] : value.items()) {
    if (!version.is_string()) return fail(ErrorCode::BadFile, strings::join("version of '", token, "' is no text"));
    out[token] = version.get<std::string>();
  }
  return out;
}

Status read_device(DeviceProfile& p, const Json& object) {
  TESSERA_TRY(const std::string kind, json::value_or<std::string>(object, "kind", ""));
  if (kind != "cpu" && kind != "cuda") {
    return fail(ErrorCode::BadFile, strings::join("field 'kind' is '", kind, "'"), "write \"cpu\" or \"cuda\"");
  }
  p.kind = kind == "cuda" ? DeviceKind::Cuda : DeviceKind::Cpu;
  if (p.is_cuda()) {
    TESSERA_TRY(p.sm, capability_field(object));
  }
  TESSERA_TRY(p.name, json::value_or<std::string>(object, "name", kind));
  TESSERA_TRY(p.driver, json::value_or<std::string>(object, "driver", ""));
  TESSERA_TRY(p.cuda, json::value_or<std::string>(object, "cuda", ""));
  TESSERA_TRY(p.multiprocessors, json::value_or<int>(object, "multiprocessors", 0));
  TESSERA_TRY(p.memory_bytes, json::value_or<int64_t>(object, "memory_bytes", 0));
  return {};
}

}  // namespace

OrderedJson to_json(const DeviceProfile& p) {
  OrderedJson out = {{"name", p.name}, {"kind", p.is_cuda() ? "cuda" : "cpu"}};
  if (p.is_cuda()) {
    out["sm"] = text_of(p.sm);
    out["multiprocessors"] = p.multiprocessors;
    out["driver"] = p.driver;
    out["cuda"] = p.cuda;
  }
  out["isa"] = p.isa;
  out["memory_bytes"] = p.memory_bytes;
  out["libraries"] = p.libraries;
  out["built"] = p.built;
  out["simulated"] = p.simulated;
  return out;
}

Result<DeviceProfile> profile_from_json(const Json& object) {
  if (!object.is_object()) return fail(ErrorCode::BadFile, "a device profile must be a JSON object");
  DeviceProfile p;
  TESSERA_TRY_OK(read_device(p, object));
  TESSERA_TRY(p.simulated, json::value_or<bool>(object, "simulated", true));
  TESSERA_TRY(p.isa, json::value_or<std::set<std::string>>(object, "isa", {}));
  TESSERA_TRY(p.built, json::value_or<std::set<std::string>>(object, "built", {}));
  if (object.contains("libraries")) {
    TESSERA_TRY(p.libraries, libraries_field(object.at("libraries")));
  } else if (p.simulated) {
    set_libraries(p, library_tokens());
  }
  return p;
}

Result<Capability> parse_capability(std::string_view text) {
  std::string digits = strings::lower(strings::trim(text));
  if (digits.starts_with("sm")) digits = digits.substr(digits.starts_with("sm_") ? 3 : 2);
  // Without a dot the last digit is the minor number: 103 is 10.3.
  if (digits.find('.') == std::string::npos && digits.size() >= 2) digits.insert(digits.size() - 1, ".");
  Capability c;
  const auto dot = digits.find('.');
  const char* end = digits.data() + digits.size();
  const auto major = std::from_chars(digits.data(), end, c.major);
  const auto minor = dot == std::string::npos ? major : std::from_chars(digits.data() + dot + 1, end, c.minor);
  const bool good = dot != std::string::npos && major.ec == std::errc() && major.ptr == digits.data() + dot &&
                    minor.ec == std::errc() && minor.ptr == end && c.major >= 0 && c.minor >= 0;
  if (good) return c;
  return fail(ErrorCode::Usage, strings::join("'", text, "' is no compute capability"), "write 10.3 or sm103");
}

Result<DeviceProfile> named_profile(std::string_view name) {
  if (!name.ends_with(".json")) return preset(name);
  TESSERA_TRY(const Json object, json::read_file(std::string(name)));
  auto profile = profile_from_json(object);
  if (!profile) return fail(ErrorCode::BadFile, strings::join(name, ": ", profile.error().what), profile.error().hint);
  return profile;
}

}  // namespace tessera::platform
