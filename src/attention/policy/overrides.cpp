#include "attention/policy/overrides.h"

#include <algorithm>

#include "base/strings.h"

namespace tessera::attention {
namespace {

bool explained(const LayerRecord& layer, const Choice& asked) {
  return layer.selected == choice_name(asked) || !layer.reason.empty();
}

std::optional<OverrideFault> fault_of_role(Role role, const Choice& asked, const std::vector<LayerRecord>& layers) {
  const auto has_role = [&](const LayerRecord& l) { return l.role == role; };
  if (std::ranges::none_of(layers, has_role)) return OverrideFault::RoleUnused;
  if (asked.is_auto()) return std::nullopt;
  const auto odd = [&](const LayerRecord& l) { return has_role(l) && !explained(l, asked); };
  return std::ranges::any_of(layers, odd) ? std::optional(OverrideFault::Mixed) : std::nullopt;
}

std::optional<OverrideFault> fault_of_whole(const ComponentOverride& asked, const std::vector<LayerRecord>& layers) {
  if (layers.empty()) return OverrideFault::ComponentUnused;
  if (asked.whole->is_auto()) return std::nullopt;  // whatever serves is what was asked for
  std::vector<LayerRecord> rest;                    // layers whose role has no override of its own
  std::ranges::copy_if(layers, std::back_inserter(rest),
                       [&](const LayerRecord& l) { return !l.role || !asked.by_role.contains(*l.role); });
  if (rest.empty()) return std::nullopt;
  const auto followed = [&](const LayerRecord& l) { return l.selected == choice_name(*asked.whole); };
  const bool may_fall_back = asked.whole->demand == Demand::Prefer;
  if (!may_fall_back && std::ranges::none_of(rest, followed)) return OverrideFault::NotApplied;
  const auto odd = [&](const LayerRecord& l) { return !explained(l, *asked.whole); };
  return std::ranges::any_of(rest, odd) ? std::optional(OverrideFault::Mixed) : std::nullopt;
}

std::string what_was_selected(const std::vector<LayerRecord>& layers) {
  std::vector<std::string> names;
  for (const LayerRecord& layer : layers) {
    if (std::ranges::find(names, layer.selected) == names.end()) names.push_back(layer.selected);
  }
  return names.empty() ? "no layer was built" : strings::join("its layers got ", strings::list(names));
}

std::string asked_text(const ComponentOverride& asked) {
  std::vector<std::string> parts;
  if (asked.whole) parts.push_back(strings::join(asked.component, "=", choice_name(*asked.whole)));
  for (const auto& [role, choice] : asked.by_role) {
    parts.push_back(strings::join(asked.component, ".", role_name(role), "=", choice_name(choice)));
  }
  return strings::list(parts);
}

std::string_view fault_text(OverrideFault fault) {
  switch (fault) {
    case OverrideFault::RoleUnused:
      return "names a role that the component has no layers of";
    case OverrideFault::ComponentUnused:
      return "controlled no attention layer";
    case OverrideFault::NotApplied:
      return "was followed by no layer";
    case OverrideFault::Mixed:
      return "was not followed by every layer";
  }
  return "";
}

}  // namespace

std::optional<OverrideFault> find_fault(const ComponentOverride& asked, const std::vector<LayerRecord>& layers) {
  for (const auto& [role, choice] : asked.by_role) {
    if (const auto fault = fault_of_role(role, choice, layers)) return fault;
  }
  if (!asked.whole || !asked.must_apply) return std::nullopt;
  return fault_of_whole(asked, layers);
}

void apply_override(const ComponentOverride& asked, Selection& selection, Role role) {
  if (asked.whole) selection.component = asked.whole;
  const auto it = asked.by_role.find(role);
  if (it != asked.by_role.end()) selection.component_role = it->second;
  selection.server_may_fall_back = asked.server_may_fall_back;
}

LayerRecord record_of(const Decision& decision, Role role) {
  LayerRecord out;
  out.role = role;
  const Candidate* served = !decision.candidates.empty() ? &decision.candidates.front()
                            : !decision.instead.empty()  ? &decision.instead.front()
                                                         : nullptr;
  if (served != nullptr) out.selected = choice_name(served->via);
  if (decision.origin == Origin::ComponentRole) out.reason = strings::join(role_name(role), "-attention override");
  if (!decision.candidates.empty() && !decision.notes.empty()) out.reason = decision.notes.front();
  if (!decision.candidates.empty() && !decision.warnings.empty()) out.reason = decision.warnings.front();
  return out;
}

void Overrides::apply(Selection& selection, Role role) const {
  const std::lock_guard lock(mutex_);
  if (forced_) selection.forced = forced_;
  if (component_) apply_override(*component_, selection, role);
}

void Overrides::record(LayerRecord layer) {
  const std::lock_guard lock(mutex_);
  if (component_) layers_.push_back(std::move(layer));
}

std::optional<Choice> Overrides::forced() const {
  const std::lock_guard lock(mutex_);
  return forced_;
}

std::optional<Choice> Overrides::force(std::optional<Choice> choice) {
  const std::lock_guard lock(mutex_);
  forced_code_.store(code_of(choice), std::memory_order_release);
  return std::exchange(forced_, choice);
}

ForceScope::ForceScope(Overrides& overrides, std::optional<Choice> choice)
    : overrides_(overrides), former_(overrides.force(choice)) {}

ForceScope::~ForceScope() {
  overrides_.force(former_);
}

ComponentScope::ComponentScope(Overrides& overrides, ComponentOverride asked) : overrides_(overrides) {
  const std::lock_guard lock(overrides_.mutex_);
  former_ = std::exchange(overrides_.component_, std::move(asked));
  former_layers_ = std::exchange(overrides_.layers_, {});
}

ComponentScope::~ComponentScope() {
  const std::lock_guard lock(overrides_.mutex_);
  overrides_.component_ = std::move(former_);
  overrides_.layers_ = std::move(former_layers_);
}

Status ComponentScope::leave() {
  const std::lock_guard lock(overrides_.mutex_);
  const ComponentOverride& asked = *overrides_.component_;
  const auto fault = find_fault(asked, overrides_.layers_);
  if (!fault) return {};
  return fail(ErrorCode::Unsupported,
              strings::join("attention override ", asked_text(asked), " ", fault_text(*fault), " (",
                            what_was_selected(overrides_.layers_), ")"),
              "remove it, or write prefer:NAME where another backend is acceptable");
}

}  // namespace tessera::attention
