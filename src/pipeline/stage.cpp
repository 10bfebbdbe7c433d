#include "pipeline/stage.h"

#include <exception>

#include "base/log.h"
#include "base/strings.h"
#include "base/unwrap.h"
#include "weights/checkpoint.h"
#include "weights/tensors.h"

namespace tessera::pipeline {

Stage::Stage(const char* name, Context& context, double Timings::*seconds, int64_t total)
    : name_(name),
      context_(context),
      seconds_(seconds),
      total_(total),
      load_before_(context.timings.load),
      exceptions_before_(std::uncaught_exceptions()) {
  context.check_cancelled();
  if (context.progress != nullptr) context.progress->begin(name_, total_);
}

Stage::~Stage() {
  const double loading = context_.timings.load - load_before_;
  context_.timings.*seconds_ += watch_.seconds() - loading;
  const bool failed = std::uncaught_exceptions() > exceptions_before_;
  if (!failed && context_.progress != nullptr) context_.progress->advance(name_, total_);
}

weights::WeightMap load_weights(const weights::PipelineFolder& folder, const std::string& component,
                                at::ScalarType dtype) {
  const weights::Checkpoint checkpoint = unwrap(weights::open_component(folder.folder(component)));
  return unwrap(weights::to_weight_map(checkpoint, dtype));
}

void warn_of_unused(const weights::WeightMap& map, const std::vector<std::string>& expected) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> unexpected;
  for (const std::string& name : map.unused()) {
    const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
    if (std::none_of(expected.begin(), expected.end(), begins)) unexpected.push_back(name);
  }
  if (unexpected.empty()) return;
  const size_t count = unexpected.size();
  if (count > kNamed) unexpected.resize(kNamed);
  log::warning(strings::join(map.origin(), ": ", count, " tensors that the model does not use (",
                             strings::list(unexpected), count > kNamed ? ", …)" : ")"));
}

nn::Scope scope_of(const Context& context, const char* component, std::string path) {
  nn::Scope scope;
  scope.engine = context.engine;
  scope.component = component;
  scope.trace = context.trace;
  if (context.trace != nullptr) scope.path = std::move(path);
  return scope;
}

}  // namespace tessera::pipeline
