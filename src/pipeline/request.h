// One request for pictures or a video, with the field names of diffusers' pipelines.
#pragma once

#include "tensor/aten.h"

namespace tessera::pipeline {

/// Absent fields take the pipeline's own defaults (or those of the model's tessera.json). Sizes in pixels.
struct GenerateRequest {
  std::string prompt;
  std::optional<std::string> prompt_2;
  std::optional<std::string> negative_prompt;
  std::optional<int64_t> height;
  std::optional<int64_t> width;
  std::optional<int64_t> num_frames;
  std::optional<double> fps;
  std::optional<int64_t> num_inference_steps;
  std::optional<int64_t> max_sequence_length;
  std::optional<double> guidance_scale;
  std::optional<double> guidance_scale_2;
  std::optional<double> true_cfg_scale;
  std::optional<bool> cfg_normalization;
  std::optional<double> cfg_truncation;
  std::optional<at::Tensor> image;  ///< [H, W, 3] uint8, for image-to-video
  uint64_t seed = 0;
  bool vae_tiling = false;
  bool vae_slicing = false;
};

}  // namespace tessera::pipeline
