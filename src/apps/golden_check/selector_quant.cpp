// Rows of quant.json: the weight format's default, component maps, names, ring attention, leaving a component.
#include <map>
#include <vector>

#include "apps/golden_check/selector_departures.h"
#include "apps/golden_check/selector_names.h"
#include "attention/policy/component_map.h"
#include "attention/policy/layer_rules.h"
#include "attention/policy/overrides.h"
#include "attention/policy/rules.h"

namespace tessera::golden {
namespace {

using attention::Role;

std::optional<Mismatch> differ(std::string what, const Json& got, const Json& want) {
  if (got == want) return std::nullopt;
  return Mismatch{std::move(what), got.dump(), want.dump()};
}

Json code_of(const Json& expected) {
  const Json& error = expected.at("error");
  return error.is_null() ? Json() : error.at("code");
}

std::optional<Mismatch> check_fp4_default(const Json& input, const Json& expected, const World&) {
  const auto* policy =
      attention::quant_policy(input.at("quantization").get<std::string>(), cuda_device(input.at("capability")));
  const bool chosen = !input.at("forced_backend").is_null() || !input.at("component_backend").is_null() ||
                      !input.at("global_backend").is_null();
  const bool applies = policy != nullptr && !chosen;
  return differ("backend", applies ? Json(enum_name(policy->choice)) : Json(), expected.at("backend"));
}

/// The map with its names as the world reads them: unreadable ones stay, for the parser to refuse.
Json names_as_read(const Json& map, const World& world) {
  if (!map.is_object()) return map;
  Json out = Json::object();
  for (const auto& [key, name] : map.items()) {
    out[key] = name;
    if (!name.is_string()) continue;
    const auto choice = read_name(name.get<std::string>(), NameSource::Component, world);
    out[key] = choice ? std::string(choice_name(*choice)) : "?" + name.get<std::string>();
  }
  return out;
}

/// `a=b,c=d` as an object, so that names can be read in either world; other texts are left to the parser.
Json as_object(const Json& value) {
  if (!value.is_string()) return value;
  const auto text = value.get<std::string>();
  if (text.starts_with("{")) {
    const auto parsed = json::parse(text, "component map");
    return parsed ? *parsed : value;
  }
  if (!attention::parse_component_map(text)) return value;
  Json out = Json::object();
  std::size_t begin = 0;
  while (begin < text.size()) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto equals = text.find('=', begin);
    if (equals < end) out[text.substr(begin, equals - begin)] = text.substr(equals + 1, end - equals - 1);
    begin = end + 1;
  }
  return out;
}

std::string map_code(attention::MapFault fault) {
  switch (fault) {
    case attention::MapFault::Syntax:
      return "component_map_syntax";
    case attention::MapFault::EmptyKey:
      return "component_key_empty";
    case attention::MapFault::BadRole:
      return "role_name_invalid";
    case attention::MapFault::BadName:
      return "component_name_invalid";
  }
  return "";
}

std::optional<Mismatch> check_component_map(const Json& input, const Json& expected, const World& world) {
  const auto map =
      attention::component_map_from_json(names_as_read(as_object(input.at("component_attention_backends")), world));
  if (!map) return differ("error.code", map_code(map.error().fault), code_of(expected));
  Json flat = Json::object(), roles = Json::object();
  for (const auto& [component, choice] : map->whole) flat[component] = std::string(choice_name(choice));
  for (const auto& [component, by_role] : map->roles) {
    for (const auto& [role, choice] : by_role) {
      roles[component][std::string(role_name(role))] = std::string(choice_name(choice));
    }
  }
  if (auto m = differ("error.code", Json(), code_of(expected))) return m;
  if (auto m = differ("flat", flat, expected.at("flat"))) return m;
  return differ("roles", roles, expected.at("roles"));
}

std::optional<Mismatch> check_name(const Json& input, const Json& expected, const World& world) {
  const auto choice = read_name(input.at("name").get<std::string>(), NameSource::Component, world);
  if (auto m = differ("error.code", choice ? Json() : Json("component_name_invalid"), code_of(expected))) return m;
  return differ("name", choice ? Json(std::string(choice_name(*choice))) : Json(), expected.at("name"));
}

std::optional<Mismatch> check_server_args(const Json& input, const Json& expected, const World& world) {
  std::optional<std::string> server;
  if (input.at("global_backend").is_string()) server = input.at("global_backend").get<std::string>();
  const int degree = input.at("ring_degree").get<int>();
  // To the reference only the exact spellings fa, fa3, fa4 and sage_attn can serve a ring.
  const bool exact = !server || *server == "fa" || *server == "fa3" || *server == "fa4" || *server == "sage_attn";
  const bool refused =
      world.has(Departure::Names) ? degree > 1 && !attention::choice_for_ring(server, degree) : degree > 1 && !exact;
  return differ("error.code", refused ? Json("ring_needs_fa_or_sage") : Json(), code_of(expected));
}

std::optional<Role> role_of(const Json& role) {
  if (role == "self") return Role::Self;
  if (role == "cross") return Role::Cross;
  return std::nullopt;
}

std::optional<attention::Choice> choice_of(const Json& name) {
  return name.is_string() ? std::optional(enum_choice(name.get<std::string>())) : std::nullopt;
}

std::string fault_code(attention::OverrideFault fault) {
  switch (fault) {
    case attention::OverrideFault::RoleUnused:
      return "role_override_unused";
    case attention::OverrideFault::ComponentUnused:
      return "component_override_unused";
    case attention::OverrideFault::NotApplied:
      return "component_override_not_applied";
    case attention::OverrideFault::Mixed:
      return "component_override_mixed";
  }
  return "";
}

std::optional<Mismatch> check_component_exit(const Json& input, const Json& expected, const World&) {
  attention::ComponentOverride asked;
  asked.whole = choice_of(input.at("component_backend"));
  if (const auto cross = choice_of(input.at("cross_role_backend"))) asked.by_role[Role::Cross] = *cross;
  const Json& required = input.at("require_backend_selection");
  asked.must_apply = required.is_null() ? asked.whole.has_value() : required.get<bool>();
  std::vector<attention::LayerRecord> layers;
  const bool named = input.at("component").is_string();  // an anonymous component keeps no record
  for (const Json& r : named ? input.at("recorded") : Json::array()) {
    layers.push_back(
        {r.at(0).get<std::string>(), r.at(1).is_null() ? "" : r.at(1).get<std::string>(), role_of(r.at(2))});
  }
  const auto fault = attention::find_fault(asked, layers);
  return differ("error.code", fault ? Json(fault_code(*fault)) : Json(), code_of(expected));
}

std::optional<Mismatch> check_turbo_sparse(const Json& input, const Json& expected, const World&) {
  std::optional<std::string> requested;
  if (input.at("requested").is_string()) requested = input.at("requested").get<std::string>();
  std::vector<attention::BackendId> supported;
  const Json& set = input.at("supported");
  for (const Json& name : set.is_array() ? set : Json::array()) {
    supported.push_back(enum_choice(name.get<std::string>()).backend);
  }
  const auto got = attention::sparse_layer_backend(input.at("attention_type").get<std::string>(), requested, supported);
  if (auto m = differ("backend", enum_name(attention::choose(got.backend)), expected.at("backend"))) return m;
  return differ("warning", got.warning, expected.at("warning"));
}

using Check = std::optional<Mismatch> (*)(const Json& input, const Json& expected, const World& world);

const std::map<std::string, Check>& checks() {
  static const std::map<std::string, Check> table = {
      {"fp4_default", check_fp4_default},       {"component_map", check_component_map},
      {"component_backend_name", check_name},   {"server_args", check_server_args},
      {"component_exit", check_component_exit}, {"turbo_sparse", check_turbo_sparse}};
  return table;
}

}  // namespace

RowCheck quant_check() {
  return [](const Json& row, const World& world) -> std::optional<Mismatch> {
    const auto kind = row.at("kind").get<std::string>();
    const auto it = checks().find(kind);
    if (it == checks().end()) return Mismatch{"kind", kind, "a kind of README.md"};
    return it->second(row.at("input"), row.at("expected"), world);
  };
}

}  // namespace tessera::golden
