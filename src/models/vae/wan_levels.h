// The levels of the Wan autoencoder: resnets at one size, and the step to the next one.
#pragma once

#include "tensor/aten.h"

#include "models/vae/wan_blocks.h"
#include "models/vae/wan_config.h"

namespace tessera::models {

/// Resnets of one level, then a doubling of the size where another level follows.
struct WanUpLevel {
  std::vector<WanResnet> resnets;
  std::optional<WanUpsample> upsample;
  int64_t out_channels = 0;
  bool shortcut = false;  ///< Wan 2.2: the level's input is added to its output
  bool in_time = false;

  at::Tensor operator()(const at::Tensor& x, FrameCache& cache) const;
};

struct WanDownLevel {
  std::vector<WanResnet> resnets;
  std::optional<WanDownsample> downsample;
  int64_t out_channels = 0;
  bool shortcut = false;
  bool in_time = false;

  at::Tensor operator()(const at::Tensor& x, FrameCache& cache) const;
};

/// `map`: the weights below "decoder" or "encoder".
std::vector<WanUpLevel> load_up_levels(const weights::WeightMap& map, const WanVaeConfig& config);
std::vector<WanDownLevel> load_down_levels(const weights::WeightMap& map, const WanVaeConfig& config);

}  // namespace tessera::models
