// Puts the question to a graph for a described device and words the answer.
#include "attention/cudnn/ask.h"

#include <utility>

#include "attention/cudnn/devices.h"
#include "base/strings.h"
#include "attention/cudnn/graph_factory.h"
#include "attention/cudnn/library.h"

namespace tessera::attention::cudnn {

namespace {

std::string_view engine_name(int64_t engine) {
  static constexpr std::string_view kNames[] = {"sm80", "sm90", "sm100", "sm120"};
  return engine >= 8 && engine <= 11 ? kNames[engine - 8] : "unnamed";
}

std::string opening(const Spec& spec, const DeviceDescription& device) {
  if (device.stands_for.empty()) return strings::join(describe(spec), " on ", device.name, ": ");
  return strings::join(describe(spec), " on ", device.stands_for, " (asked with the properties of ", device.name,
                       "): ");
}

std::string verdict(const std::vector<int64_t>& engines) {
  std::vector<std::string> names;
  for (const int64_t engine : engines) {
    std::string name = strings::join(engine, " (", engine_name(engine), ")");
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return strings::join("supported, engines ", strings::list(names, " then "));
}

}  // namespace

Result<Answer> ask(const Spec& spec, std::string_view device) {
  TESSERA_TRY(const DeviceDescription description, describe_device(device));
  const Result<PlannedGraph> graph = plan_graph(spec, description);
  if (!graph && graph.error().code != ErrorCode::Unsupported) return fail(graph.error());
  TESSERA_TRY(const Library library, load_library());
  Answer answer;
  answer.version = version_text(library.version);
  answer.text = opening(spec, description);
  answer.supported = graph.has_value();
  if (!graph) {
    answer.text += graph.error().what;
    return answer;
  }
  answer.engines = graph->engines;
  answer.plans = graph->plan_names;
  answer.text += verdict(answer.engines);
  return answer;
}

Result<Answer> ask(const AttentionProblem& problem, std::string_view device) {
  if (problem.is_varlen()) {
    return fail(ErrorCode::Unsupported, "cuDNN is not asked about packed segments", "ask about one segment");
  }
  return ask(spec_of(problem), device);
}

OrderedJson to_json(const Answer& answer) {
  return {
      {"version", answer.version}, {"supported", answer.supported}, {"engines", answer.engines}, {"text", answer.text}};
}

}  // namespace tessera::attention::cudnn
