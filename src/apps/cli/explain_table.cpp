#include "apps/cli/explain_table.h"

#include <map>
#include <set>

#include "attention/policy/catalog.h"
#include "base/strings.h"

namespace tessera::cli {
namespace {

using attention::BackendId;
using attention::Refusal;

/// Rows for GPUs that compute all of attention; sparse patterns and other platforms would only lengthen the table.
bool is_dense_gpu(BackendId id) {
  using enum BackendId;
  return id == TorchCudnnSdpa || id == TorchSdpa || id == Fa2 || id == Fa3 || id == Fa4 || id == SageAttn ||
         id == SageAttn3;
}

std::string code(const Refusal& r) {
  return strings::join("`", attention::backend_name(r.backend), "` ", attention::reason_name(r.reason));
}

std::string row_of(const ExplainedSite& row) {
  const auto& [site, decision] = row;
  std::vector<std::string> then, refused;
  for (const auto& c : decision.candidates) {
    then.push_back(strings::join("`", attention::backend_name(c.backend), "`"));
  }
  for (const Refusal& r : decision.refused) {
    if (is_dense_gpu(r.backend)) refused.push_back(code(r));
  }
  const std::string runs = then.empty() ? "nothing" : then.front();
  if (!then.empty()) then.erase(then.begin());
  const std::string why = decision.candidates.empty() ? decision.error->what : decision.candidates[0].provenance;
  return strings::join("| ", site.name, " | ", describe(site.problem), " | ", runs, " | ", why, " | ",
                       strings::list(then), " | ", strings::list(refused), " |\n");
}

}  // namespace

std::string markdown_table(const std::vector<ExplainedSite>& rows, const platform::DeviceProfile& device) {
  std::string out = strings::join("## ", device.name, "\n\n| shape | problem | runs | why | then | not |\n",
                                  "|---|---|---|---|---|---|\n");
  std::map<std::string, std::set<std::string>> sentences;
  for (const ExplainedSite& row : rows) {
    out += row_of(row);
    for (const Refusal& r : row.second.refused) {
      if (is_dense_gpu(r.backend)) sentences[code(r)].insert(r.text);
    }
  }
  out += "\n";
  for (const auto& [what, texts] : sentences) {
    for (const std::string& text : texts) out += strings::join("- ", what, ": ", text, "\n");
  }
  return out + "\n";
}

}  // namespace tessera::cli
