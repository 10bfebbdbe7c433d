// `--component-attention-backends`: which component, or role of a component, asks for which backend.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "base/json.h"
#include "base/result.h"

namespace tessera::attention {

/// Choices by component name ('-' and '_' are the same) and by role within one.
struct ComponentMap {
  std::map<std::string, Choice> whole;
  std::map<std::string, std::map<Role, Choice>> roles;

  bool operator==(const ComponentMap&) const = default;
};

/// What one component was given, directly or through the component it is a sibling of (transformer_2 of transformer).
struct ComponentAnswer {
  std::string key;  ///< the entry that matched, empty when none did
  std::optional<Choice> whole;
  std::map<Role, Choice> by_role;
};

/// How the text of the map can be wrong; the message says the rest.
enum class MapFault { Syntax, EmptyKey, BadRole, BadName };

struct MapError {
  MapFault fault = MapFault::Syntax;
  Error error;
};

/// Parses `KEY=NAME,…` or a JSON object; KEY is a component or component.role. Empty text: an empty map.
std::expected<ComponentMap, MapError> parse_component_map(std::string_view text);

/// The same from a JSON object {KEY: NAME} or a string; null is empty.
std::expected<ComponentMap, MapError> component_map_from_json(const Json& value);

/// For `component`; a role named for it directly wins over one that it inherits.
ComponentAnswer choices_for(const ComponentMap& map, std::string_view component);

}  // namespace tessera::attention
