// What the flags ask of attention, spread over the components and roles of a model.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attention/policy/overrides.h"
#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "base/result.h"

namespace tessera::attention {

/// The parsed `--component-attention-backends`: "vae" or "transformer.cross" → choice.
using ComponentChoices = std::map<std::string, Choice, std::less<>>;

/// Parses KEY=NAME,… (or a JSON object) with KEY = component or component.role (self, cross). What is said for
/// `transformer` holds for `transformer_2` too, unless that has an entry of its own. Errors: Usage.
Result<ComponentChoices> parse_component_choices(std::string_view text);

/// Selections of all components.
struct SelectionTable {
  Selection base;                                            ///< the global flag, the quality, …
  std::map<std::string, Selection, std::less<>> components;  ///< instead of `base`: quant format, model defaults
  ComponentChoices choices;

  /// What applies to a component's layers before its own overrides. The global flag is a preference outside of
  /// transformers.
  Selection without_overrides(std::string_view component) const;

  /// The overrides of a component, for a ComponentScope around its construction.
  ComponentOverride override_of(std::string_view component) const;

  /// Both together, for the layers of one role.
  Selection at(std::string_view component, Role role) const;

  /// The keys of `choices` that concern this component and role.
  std::vector<std::string> keys_for(std::string_view component, Role role) const;
};

}  // namespace tessera::attention
