#include "schedulers/catalog.h"

#include "base/strings.h"
#include "schedulers/flow_match_euler.h"
#include "schedulers/unipc.h"

namespace tessera::schedulers {
namespace {

using Factory = Result<std::unique_ptr<Scheduler>> (*)(const Json&, const ScheduleRequest&);

constexpr std::pair<std::string_view, Factory> kRows[] = {
    {"FlowMatchEulerDiscreteScheduler", make_flow_match_euler},
    {"UniPCMultistepScheduler", make_unipc},
};

std::string known_classes() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : kRows) names.emplace_back(name);
  return strings::list(names);
}

}  // namespace

Result<std::unique_ptr<Scheduler>> make_scheduler(const Json& config, const ScheduleRequest& request) {
  TESSERA_TRY(const std::string name, json::value_or<std::string>(config, "_class_name", ""));
  for (const auto& [known, factory] : kRows) {
    if (known == name) return factory(config, request);
  }
  return fail(ErrorCode::Unsupported, strings::join("scheduler class '", name, "' is not known"),
              "known are " + known_classes());
}

}  // namespace tessera::schedulers
