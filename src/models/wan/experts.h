// The one or two transformers of a Wan model, of which one is in memory at a time.
#pragma once

#include "tensor/aten.h"

#include "models/wan/pipeline_config.h"
#include "models/wan/transformer.h"
#include "pipeline/context.h"

namespace tessera::models {

/// Hands out the transformer of a timestep; loading one releases the other.
class WanExperts {
 public:
  WanExperts(const weights::PipelineFolder& folder, const WanConfigs& configs, pipeline::Context& context)
      : folder_(folder), configs_(configs), context_(context) {}

  /// True for the low noise levels of a model with two transformers.
  bool is_second(double timestep) const {
    return configs_.boundary_ratio &&
           timestep < *configs_.boundary_ratio * static_cast<double>(configs_.num_train_timesteps);
  }
  static const char* component(bool second) { return second ? "transformer_2" : "transformer"; }

  const WanTransformer& get(bool second);

 private:
  const weights::PipelineFolder& folder_;
  const WanConfigs& configs_;
  pipeline::Context& context_;
  std::optional<WanTransformer> loaded_;
  bool loaded_second_ = false;
};

}  // namespace tessera::models
