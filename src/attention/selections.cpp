// From flags to one Selection per component and role.
#include "tensor/aten.h"

#include "attention/selections.h"

#include "attention/policy/component_map.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

/// The policy's form of flat keys.
ComponentMap map_of(const ComponentChoices& choices) {
  ComponentMap map;
  for (const auto& [key, choice] : choices) {
    const auto dot = key.rfind('.');
    if (dot == key.npos) {
      map.whole[key] = choice;
    } else {
      map.roles[key.substr(0, dot)][key.substr(dot + 1) == "self" ? Role::Self : Role::Cross] = choice;
    }
  }
  return map;
}

}  // namespace

Result<ComponentChoices> parse_component_choices(std::string_view text) {
  auto map = parse_component_map(text);
  if (!map) return fail(std::move(map).error().error);
  ComponentChoices choices;
  for (const auto& [component, choice] : map->whole) choices.emplace(component, choice);
  for (const auto& [component, roles] : map->roles) {
    for (const auto& [role, choice] : roles) choices.emplace(strings::join(component, ".", role_name(role)), choice);
  }
  return choices;
}

std::vector<std::string> SelectionTable::keys_for(std::string_view component, Role role) const {
  std::vector<std::string> keys;
  for (const auto& [key, choice] : choices) {
    const ComponentAnswer answer = choices_for(map_of({{key, choice}}), component);
    if (answer.whole || answer.by_role.contains(role)) keys.push_back(key);
  }
  return keys;
}

Selection SelectionTable::without_overrides(std::string_view component) const {
  const auto own = components.find(component);
  Selection selection = own != components.end() ? own->second : base;
  if (!component.starts_with("transformer")) selection.server_may_fall_back = true;
  return selection;
}

ComponentOverride SelectionTable::override_of(std::string_view component) const {
  ComponentAnswer answer = choices_for(map_of(choices), component);
  const bool server_may_fall_back = without_overrides(component).server_may_fall_back;
  return {std::string(component), answer.whole, std::move(answer.by_role), server_may_fall_back, true};
}

Selection SelectionTable::at(std::string_view component, Role role) const {
  Selection selection = without_overrides(component);
  apply_override(override_of(component), selection, role);
  return selection;
}

}  // namespace tessera::attention
