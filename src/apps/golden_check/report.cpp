#include "apps/golden_check/report.h"

namespace tessera::golden {

void GoldenReport::count(bool ok, const std::string& name, const std::string& what, const std::string& got,
                         const std::string& want) {
  ++checked;
  if (ok) {
    ++passed;
  } else {
    failed.push_back({name, what, got, want});
  }
}

OrderedJson to_json(const GoldenReport& report) {
  OrderedJson failed = OrderedJson::array();
  for (const auto& f : report.failed) {
    failed.push_back({{"case", f.name}, {"what", f.what}, {"got", f.got}, {"want", f.want}});
  }
  OrderedJson out = {
      {"path", report.path.string()}, {"kind", report.kind}, {"checked", report.checked}, {"passed", report.passed}};
  out["skipped"] = report.skipped;
  out["deviations"] = report.deviations;
  out["failed"] = std::move(failed);
  return out;
}

}  // namespace tessera::golden
