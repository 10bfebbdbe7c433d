#include "attention/policy/component_map.h"

#include <algorithm>

#include "base/strings.h"

namespace tessera::attention {
namespace {

using Parsed = std::expected<ComponentMap, MapError>;

std::unexpected<MapError> fault(MapFault kind, std::string what, std::string hint) {
  return std::unexpected(MapError{kind, {ErrorCode::Usage, std::move(what), std::move(hint)}});
}

std::string component_key(std::string_view text) {
  std::string key(strings::trim(text));
  std::ranges::replace(key, '-', '_');
  return key;
}

std::optional<Role> parse_role(std::string_view name) {
  const std::string lower = strings::lower(strings::trim(name));
  if (lower == "self") return Role::Self;
  if (lower == "cross") return Role::Cross;
  return std::nullopt;
}

struct Key {
  std::string component;
  std::optional<Role> role;
};

std::expected<Key, MapError> parse_key(std::string_view text) {
  const std::string_view trimmed = strings::trim(text);
  const auto dot = trimmed.rfind('.');
  Key key{component_key(trimmed.substr(0, dot)), std::nullopt};
  if (key.component.empty()) {
    return fault(MapFault::EmptyKey, strings::join("component name is empty in '", text, "'"),
                 "write component=backend, e.g. transformer=fa");
  }
  if (dot == std::string_view::npos) return key;
  key.role = parse_role(trimmed.substr(dot + 1));
  if (key.role) return key;
  return fault(MapFault::BadRole, strings::join("unknown attention role in '", trimmed, "'"),
               "roles are self and cross");
}

std::optional<MapError> add(ComponentMap& map, std::string_view key_text, std::string_view name) {
  const auto key = parse_key(key_text);
  if (!key) return key.error();
  const auto choice = parse_choice(name);
  if (!choice) return MapError{MapFault::BadName, choice.error()};
  if (key->role) {
    map.roles[key->component][*key->role] = *choice;
  } else {
    map.whole[key->component] = *choice;
  }
  return std::nullopt;
}

Parsed parse_pairs(std::string_view text) {
  ComponentMap map;
  for (const std::string& entry : strings::split(text, ',')) {
    if (strings::trim(entry).empty()) continue;
    const auto equals = entry.find('=');
    if (equals == std::string::npos) {
      return fault(MapFault::Syntax, strings::join("'", entry, "' is no component=backend entry"),
                   "write component=backend, e.g. transformer=fa,vae=torch_sdpa");
    }
    if (auto bad = add(map, entry.substr(0, equals), entry.substr(equals + 1))) return std::unexpected(std::move(*bad));
  }
  return map;
}

Parsed parse_object(const Json& object) {
  ComponentMap map;
  for (const auto& [key, name] : object.items()) {
    if (!name.is_string()) {
      return fault(MapFault::BadName, strings::join("the backend of '", key, "' must be a string, got ", name.dump()),
                   "write {\"transformer\": \"fa\"}");
    }
    if (auto bad = add(map, key, name.get<std::string>())) return std::unexpected(std::move(*bad));
  }
  return map;
}

/// "transformer_2" → "transformer": numbered siblings share one flag.
std::string sibling_of(const std::string& component) {
  const auto end = component.find_last_not_of("0123456789");
  const bool numbered = end != std::string::npos && end + 1 < component.size() && component[end] == '_';
  return numbered ? component.substr(0, end) : std::string();
}

}  // namespace

Parsed parse_component_map(std::string_view text) {
  const std::string_view trimmed = strings::trim(text);
  if (!trimmed.starts_with('{')) return parse_pairs(trimmed);
  const auto object = json::parse(trimmed, "--component-attention-backends");
  if (!object) return std::unexpected(MapError{MapFault::Syntax, object.error()});
  return parse_object(*object);
}

Parsed component_map_from_json(const Json& value) {
  if (value.is_null()) return ComponentMap{};
  if (value.is_string()) return parse_component_map(value.get<std::string>());
  if (value.is_object()) return parse_object(value);
  return fault(MapFault::Syntax, "component backends must be a text or an object", "write {\"transformer\": \"fa\"}");
}

ComponentAnswer choices_for(const ComponentMap& map, std::string_view component) {
  const std::string own = component_key(component);
  ComponentAnswer out;
  for (const std::string& name : {own, sibling_of(own)}) {
    if (name.empty()) continue;
    const auto whole = map.whole.find(name);
    if (!out.whole && whole != map.whole.end()) {
      out.whole = whole->second;
      out.key = name;
    }
    const auto roles = map.roles.find(name);
    if (roles == map.roles.end()) continue;
    for (const auto& [role, choice] : roles->second) out.by_role.try_emplace(role, choice);
    if (out.key.empty()) out.key = name;
  }
  return out;
}

}  // namespace tessera::attention
