// The report's JSON form.
#include "tensor/aten.h"

#include "attention/report.h"

#include "attention/policy/decision_json.h"

namespace tessera::attention {

OrderedJson to_json(const SiteReport& report) {
  OrderedJson refused = OrderedJson::array();
  for (const auto& r : report.refused) {
    refused.push_back({{"backend", backend_name(r.backend)}, {"reason", reason_name(r.reason)}, {"text", r.text}});
  }
  OrderedJson json = {{"site", report.site},
                      {"role", role_name(report.problem.role)},
                      {"problem", problem_to_json(report.problem)},
                      {"requested", report.requested},
                      {"origin", report.origin},
                      {"level", report.level},
                      {"evidence", report.evidence},
                      {"backend", report.backend},
                      {"tier", report.tier},
                      {"refused", std::move(refused)},
                      {"calls", report.calls},
                      {"canary", report.canary}};
  if (!report.error.empty()) json["error"] = report.error;
  return json;
}

OrderedJson to_json(const std::vector<SiteReport>& reports) {
  OrderedJson rows = OrderedJson::array();
  for (const auto& report : reports) rows.push_back(to_json(report));
  return rows;
}

}  // namespace tessera::attention
