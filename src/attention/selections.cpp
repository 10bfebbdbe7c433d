// From flags to one Selection per component and role.
#include "tensor/aten.h"

#include "attention/selections.h"

#include "base/strings.h"

namespace tessera::attention {
namespace {

Status check_key(std::string_view key) {
  const auto dot = key.find('.');
  const std::string_view role = dot == key.npos ? "" : key.substr(dot + 1);
  const bool good = !key.empty() && dot != 0 && (dot == key.npos || role == "self" || role == "cross");
  if (good) return {};
  return fail(ErrorCode::Usage, strings::join("--component-attention-backends: '", key, "' is no component"),
              "a key is a component (transformer, text_encoder, vae) or component.self or component.cross");
}

}  // namespace

Result<ComponentChoices> parse_component_choices(std::string_view text) {
  ComponentChoices choices;
  for (const auto& part : strings::split(text, ',')) {
    const std::string_view item = strings::trim(part);
    const auto equals = item.find('=');
    if (equals == item.npos) {
      return fail(ErrorCode::Usage, strings::join("--component-attention-backends: '", item, "' is not KEY=NAME"),
                  "for example transformer.cross=torch_sdpa,vae=cpu_flash");
    }
    const std::string key = strings::lower(strings::trim(item.substr(0, equals)));
    TESSERA_TRY_OK(check_key(key));
    TESSERA_TRY(const Choice choice, parse_choice(item.substr(equals + 1)));
    if (!choices.emplace(key, choice).second) {
      return fail(ErrorCode::Usage, strings::join("--component-attention-backends names '", key, "' twice"),
                  "give each key once");
    }
  }
  return choices;
}

std::vector<std::string> SelectionTable::keys_for(std::string_view component, Role role) const {
  std::vector<std::string> keys;
  for (const auto& key : {std::string(component), strings::join(component, ".", role_name(role))}) {
    if (choices.contains(key)) keys.push_back(key);
  }
  return keys;
}

Selection SelectionTable::at(std::string_view component, Role role) const {
  const auto own = components.find(component);
  Selection selection = own != components.end() ? own->second : base;
  if (!component.starts_with("transformer")) selection.server_may_fall_back = true;
  const auto whole = choices.find(component);
  if (whole != choices.end()) selection.component = whole->second;
  const auto role_choice = choices.find(strings::join(component, ".", role_name(role)));
  if (role_choice != choices.end()) selection.component_role = role_choice->second;
  return selection;
}

}  // namespace tessera::attention
