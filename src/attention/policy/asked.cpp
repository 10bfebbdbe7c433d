#include "attention/policy/asked.h"

#include "attention/policy/catalog.h"
#include "attention/policy/rules.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

/// A sparse pattern on a cross-attention layer is replaced by a dense backend even where the choice is usually strict:
/// one flag names the backend of a whole model, and only its self-attention can be meant.
bool sparse_on_cross(const Choice& choice, const AttentionProblem& problem) {
  return choice.kind == ChoiceKind::Backend && info(choice.backend).sparse && problem.role == Role::Cross;
}

bool strict_by_level(const Asked& asked, const Selection& s, const AttentionProblem& problem) {
  if (asked.choice.demand != Demand::Usual) return asked.choice.demand == Demand::Strict;
  if (!asked.by_user || asked.choice.is_auto() || sparse_on_cross(asked.choice, problem)) return false;
  // A layer with a default of its own was written to live with other backends than the global flag's.
  if (asked.origin == Origin::Server) return !s.server_may_fall_back && !s.layer_default;
  return true;
}

Asked first_level(const Selection& s, const platform::DeviceProfile& device) {
  const auto named = [](std::string_view what, const Choice& c) { return strings::join(what, " ", choice_name(c)); };
  if (s.layer_pin) return {*s.layer_pin, Origin::LayerPin, true, false, named("the layer pins", *s.layer_pin)};
  if (s.forced) return {*s.forced, Origin::Forced, true, false, named("forced process-wide:", *s.forced)};
  const auto of_component = [&](std::string_view level, const Choice& c) {
    return strings::join(s.component_origin, " --component-attention-backends, ", level, ": ", choice_name(c));
  };
  if (s.component_role) {
    return {*s.component_role, Origin::ComponentRole, true, false,
            of_component("role of the component", *s.component_role)};
  }
  if (s.component) return {*s.component, Origin::Component, true, false, of_component("component", *s.component)};
  if (s.server) {
    const auto text = strings::join(s.server_origin, " --attention-backend ", choice_name(*s.server));
    return {*s.server, Origin::Server, s.server_is_explicit, false, text};
  }
  if (const QuantPolicy* policy = quant_policy(s.quant, device)) {
    return {policy->choice, Origin::QuantPolicy, false, false, std::string(policy->evidence)};
  }
  if (s.layer_default) {
    return {*s.layer_default, Origin::LayerDefault, false, false, named("default of the layer:", *s.layer_default)};
  }
  return {};
}

}  // namespace

Asked asked_by(const Selection& selection, const AttentionProblem& problem, const platform::DeviceProfile& device) {
  Asked asked = first_level(selection, device);
  asked.strict = strict_by_level(asked, selection, problem);
  return asked;
}

std::optional<Choice> substitute_for(const Choice& choice, Reason why) {
  if (choice.kind == ChoiceKind::AnyFa) return choose(BackendId::TorchSdpa);
  if (choice.kind != ChoiceKind::Backend) return std::nullopt;
  const bool missing = why == Reason::NotInstalled || why == Reason::NotBuilt || why == Reason::BindingBroken;
  switch (choice.backend) {
    case BackendId::SageAttn:
      return missing ? std::optional(choose_fa()) : std::nullopt;
    case BackendId::SageAttn3:
      return missing ? std::optional(choose(BackendId::TorchSdpa)) : std::nullopt;
    case BackendId::Fp8FaSm120:
      return choose(BackendId::TorchCudnnSdpa);
    case BackendId::Fa2:
    case BackendId::Fa3:
    case BackendId::Fa4:
      return choose_fa();
    default:
      return std::nullopt;
  }
}

}  // namespace tessera::attention
