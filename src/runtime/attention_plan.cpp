#include "runtime/attention_plan.h"

#include <set>

#include "base/strings.h"

namespace tessera::runtime {
namespace {

using attention::Overrides;
using pipeline::AttentionSite;

attention::Decision decide(const AttentionSite& site, const Overrides& overrides, const PlanBasis& basis) {
  attention::Selection selection = basis.selections.without_overrides(site.component);
  overrides.apply(selection, site.problem.role);
  if (site.pin) selection.layer_pin = site.pin;
  if (site.layer_default) selection.layer_default = site.layer_default;
  return attention::resolve(site.problem, selection, basis.device);
}

/// Components in the order in which the sites name them first.
std::vector<std::string> components_of(const std::vector<AttentionSite>& sites) {
  std::vector<std::string> names;
  for (const AttentionSite& site : sites) {
    if (std::ranges::find(names, site.component) == names.end()) names.push_back(site.component);
  }
  return names;
}

}  // namespace

AttentionPlan plan_attention(const std::vector<AttentionSite>& sites, const PlanBasis& basis) {
  AttentionPlan plan;
  Overrides overrides;
  const attention::ForceScope force(overrides, basis.forced);
  std::vector<std::optional<attention::Decision>> decisions(sites.size());
  for (const std::string& component : components_of(sites)) {
    attention::ComponentScope scope(overrides, basis.selections.override_of(component));
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (sites[i].component != component) continue;
      AttentionSite site = sites[i];
      site.problem.dtype = basis.dtype;
      decisions[i] = decide(site, overrides, basis);
      overrides.record(attention::record_of(*decisions[i], site.problem.role));
    }
    const Status left = scope.leave();
    if (plan.overrides) plan.overrides = left;
  }
  for (std::size_t i = 0; i < sites.size(); ++i) {
    plan.sites.push_back({sites[i], *std::move(decisions[i])});
    plan.sites.back().site.problem.dtype = basis.dtype;
  }
  return plan;
}

Status check_keys(const AttentionPlan& plan, const attention::SelectionTable& selections) {
  std::set<std::string> used, known;
  for (const SiteDecision& row : plan.sites) {
    const auto role = row.site.problem.role;
    for (std::string& key : selections.keys_for(row.site.component, role)) used.insert(std::move(key));
    known.insert(strings::join(row.site.component, ".", attention::role_name(role)));
  }
  for (const auto& [key, choice] : selections.choices) {
    if (used.contains(key)) continue;
    return fail(ErrorCode::Usage, strings::join("--component-attention-backends ", key, " controls no attention layer"),
                strings::join("this model has ", strings::list({known.begin(), known.end()})));
  }
  return {};
}

Status check_attention(const AttentionPlan& plan, const attention::SelectionTable& selections) {
  for (const SiteDecision& row : plan.sites) {
    if (row.decision.error) return fail(*row.decision.error);
  }
  TESSERA_TRY_OK(check_keys(plan, selections));
  return plan.overrides;
}

}  // namespace tessera::runtime
