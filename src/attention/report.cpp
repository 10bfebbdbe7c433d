// The report's JSON form.
#include "tensor/aten.h"

#include "attention/report.h"

namespace tessera::attention {

OrderedJson problem_json(const AttentionProblem& p) {
  OrderedJson json = {
      {"batch", p.batch},       {"seq_q", p.seq_q},       {"seq_kv", p.seq_kv},       {"heads_q", p.heads_q},
      {"heads_kv", p.heads_kv}, {"head_dim", p.head_dim}, {"value_dim", p.value_dim}, {"dtype", dtype_name(p.dtype)}};
  json["causal"] = p.is_causal() ? OrderedJson(causal_name(p.causal)) : OrderedJson(false);
  json["mask"] = mask_name(p.mask);
  json["key_lengths"] = p.key_lengths.empty() ? OrderedJson() : OrderedJson(p.key_lengths);
  json["needs_lse"] = p.needs_lse;
  json["role"] = role_name(p.role);
  return json;
}

OrderedJson to_json(const SiteReport& report) {
  OrderedJson refused = OrderedJson::array();
  for (const auto& r : report.refused) {
    refused.push_back({{"backend", backend_name(r.backend)}, {"reason", reason_name(r.reason)}, {"text", r.text}});
  }
  OrderedJson json = {{"site", report.site},
                      {"role", role_name(report.problem.role)},
                      {"problem", problem_json(report.problem)},
                      {"requested", report.requested},
                      {"origin", report.origin},
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
