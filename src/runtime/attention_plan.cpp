#include "runtime/attention_plan.h"

#include <set>

#include "base/strings.h"

namespace tessera::runtime {

std::vector<SiteDecision> plan_attention(const std::vector<pipeline::AttentionSite>& sites,
                                         const attention::SelectionTable& selections,
                                         const platform::DeviceProfile& device, DType dtype) {
  std::vector<SiteDecision> plan;
  for (pipeline::AttentionSite site : sites) {
    site.problem.dtype = dtype;
    const auto selection = selections.at(site.component, site.problem.role);
    attention::Decision decision = attention::resolve(site.problem, selection, device);
    plan.push_back({std::move(site), std::move(decision)});
  }
  return plan;
}

Status check_attention(const std::vector<SiteDecision>& plan, const attention::SelectionTable& selections) {
  std::set<std::string> used;
  for (const SiteDecision& row : plan) {
    if (row.decision.error) return fail(*row.decision.error);
    for (std::string& key : selections.keys_for(row.site.component, row.site.problem.role)) used.insert(std::move(key));
  }
  for (const auto& [key, choice] : selections.choices) {
    if (used.contains(key)) continue;
    std::set<std::string> known;
    for (const SiteDecision& row : plan) {
      known.insert(row.site.component + "." + std::string(attention::role_name(row.site.problem.role)));
    }
    return fail(ErrorCode::Usage, strings::join("--component-attention-backends ", key, " controls no attention layer"),
                "this model has " + strings::list({known.begin(), known.end()}));
  }
  return {};
}

}  // namespace tessera::runtime
