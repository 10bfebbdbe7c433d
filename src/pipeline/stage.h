// The parts of a request's run that all pipelines do alike: timing, announcing, and loading a stage's component.
//
// A component lives as a local variable of its stage's function, so it is released when the stage ends: the text
// encoders before the denoise loop, the transformer before the decoder.
#pragma once

#include "tensor/aten.h"

#include "nn/scope.h"
#include "pipeline/context.h"
#include "weights/pipeline_folder.h"
#include "weights/weight_map.h"

namespace tessera::pipeline {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A stage ("encode", "decode") of `total` parts: announced, timed without the loading inside it, and counted as done
/// when it ends well. Asks for cancelling at its beginning.
class Stage {
 public:
  Stage(const char* name, Context& context, double Timings::*seconds, int64_t total = 1);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

 private:
  const char* name_;
  Context& context_;
  double Timings::*seconds_;
  int64_t total_;
  double load_before_;
  int exceptions_before_;
  Stopwatch watch_;
};

/// The weights of a component in `dtype`, mapped. Errors: throws RuntimeFault.
weights::WeightMap load_weights(const weights::PipelineFolder& folder, const std::string& component,
                                at::ScalarType dtype);

/// Warns of stored tensors that the model did not take, but for names that begin with one of `expected`.
void warn_of_unused(const weights::WeightMap& map, const std::vector<std::string>& expected);

/// The quality's integers are for the denoisers; text encoders and autoencoders run once.
inline weights::LinearTier linears_of(const std::string& component, const Context& context) {
  return component.starts_with("transformer") ? context.linears : weights::LinearTier::Exact;
}

/// Builds a component and adds its seconds to context.timings.load. Model: constructible from (WeightMap, config).
struct LoadOptions {
  at::ScalarType dtype = at::kFloat;
  std::vector<std::string> unused = {};  ///< name prefixes that the model leaves alone on purpose
};
template <typename Model, typename Config>
Model load_component(const weights::PipelineFolder& folder, const std::string& component, const Config& config,
                     const LoadOptions& options, Context& context) {
  const Stopwatch watch;
  const weights::WeightMap map =
      load_weights(folder, component, options.dtype).with_linears(linears_of(component, context));
  Model model(map, config);
  warn_of_unused(map, options.unused);
  context.timings.load += watch.seconds();
  return model;
}

/// Where a component's modules stand: engine and trace of the context, and the trace name of the call.
nn::Scope scope_of(const Context& context, const char* component, std::string path);

}  // namespace tessera::pipeline
