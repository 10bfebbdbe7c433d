// `tessera explain --batch`: one decision per JSON line.
#include <iostream>
#include <map>
#include <optional>

#include "apps/cli/explain.h"
#include "apps/cli/machine.h"
#include "attention/policy/decision_json.h"
#include "base/strings.h"
#include "platform/simulate.h"

namespace tessera::cli {
namespace {

Result<OrderedJson> answer(const std::string& line, const attention::DeviceByName& devices, const std::string& simulate,
                           const std::vector<ExplainExtra>& extras) {
  TESSERA_TRY(const Json row, json::parse(line, "row"));
  TESSERA_TRY(auto batch, attention::batch_row_from_json(row, devices));
  TESSERA_TRY(batch.device, platform::simulate(std::move(batch.device), simulate));
  const auto decision = attention::resolve(batch.problem, batch.selection, batch.device, batch.past);
  OrderedJson out = attention::decision_to_json(decision);
  for (const ExplainExtra& extra : extras) {
    if (auto more = extra(batch.problem, batch.device)) out[more->first] = std::move(more->second);
  }
  return out;
}

}  // namespace

Status explain_batch(const std::string& default_device, const std::string& simulate,
                     const std::vector<ExplainExtra>& extras) {
  std::map<std::string, Result<platform::DeviceProfile>> cache;  // probing the machine for every row would be slow
  const attention::DeviceByName devices = [&](const std::string& name) {
    const std::string real = name == "auto" ? default_device : name;
    const auto it = cache.find(real);
    return it != cache.end() ? it->second : cache.emplace(real, device_profile(real)).first->second;
  };
  std::optional<Error> first;
  std::string line;
  for (int64_t number = 1; std::getline(std::cin, line); ++number) {
    if (strings::trim(line).empty()) continue;
    const auto out = answer(line, devices, simulate, extras);
    if (!out && !first)
      first = Error{ErrorCode::Usage, strings::join("line ", number, ": ", out.error().what), out.error().hint};
    std::cout << (out ? *out : attention::batch_error(out.error())).dump() << "\n";
  }
  std::cout.flush();
  return first ? Status(fail(*first)) : Status();
}

}  // namespace tessera::cli
