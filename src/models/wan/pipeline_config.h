// The configs of a Wan model folder, and what follows from them for a request.
#pragma once

#include "tensor/aten.h"

#include "models/text/t5.h"
#include "models/vae/wan_config.h"
#include "models/wan/config.h"
#include "pipeline/request.h"
#include "weights/pipeline_folder.h"

namespace tessera::models {

/// The configs of all components, and the switches of model_index.json.
struct WanConfigs {
  T5Config text;
  WanConfig transformer;
  std::optional<WanConfig> transformer_2;  ///< the expert of the low noise levels; with boundary_ratio only
  WanVaeConfig vae;
  Json scheduler;
  int64_t num_train_timesteps = 1000;
  std::optional<double> boundary_ratio;  ///< share of the schedule below which transformer_2 takes over
  bool expand_timesteps = false;         ///< TI2V: one timestep for each token
  bool image_to_video = false;
};

/// The size of a request's latents.
struct WanSize {
  int64_t frames;
  int64_t height;
  int64_t width;
};

/// Errors: those of the configs; BadFile when they do not fit together or an expert is missing; Unsupported for other
/// component classes.
Result<WanConfigs> read_wan_configs(const weights::PipelineFolder& folder);

/// The request with diffusers' defaults. Errors: Usage, naming the nearest valid value.
Result<pipeline::GenerateRequest> complete_wan_request(const pipeline::GenerateRequest& request,
                                                       const WanConfigs& configs,
                                                       const std::filesystem::path& model_folder);

/// Latent frames, rows and columns of a completed request.
WanSize wan_latent_size(const pipeline::GenerateRequest& request, const WanConfigs& configs);

/// How many patches the transformer sees.
int64_t wan_tokens(const WanSize& latents, const WanConfig& config);

}  // namespace tessera::models
