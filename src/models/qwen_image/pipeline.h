// diffusers' QwenImagePipeline: text to picture with Qwen-Image.
#pragma once

#include "tensor/aten.h"

#include "models/qwen_image/config.h"
#include "models/text/qwen_lm.h"
#include "models/vae/wan_config.h"
#include "pipeline/pipeline.h"
#include "weights/pipeline_folder.h"

namespace tessera::models {

/// The configs of all components.
struct QwenImageConfigs {
  QwenLmConfig text_encoder;
  QwenImageConfig transformer;
  WanVaeConfig vae;
  Json scheduler;
};

class QwenImagePipeline final : public pipeline::Pipeline {
 public:
  /// Row of models/catalog. Reads configs only. Errors: those of the configs; Unsupported for other component classes.
  static Result<std::unique_ptr<pipeline::Pipeline>> open(const weights::PipelineFolder& folder);

  QwenImagePipeline(weights::PipelineFolder folder, QwenImageConfigs configs)
      : folder_(std::move(folder)), configs_(std::move(configs)) {}

  Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request) const override;
  std::vector<pipeline::AttentionSite> attention_sites(const pipeline::GenerateRequest& request) const override;
  pipeline::Media generate(const pipeline::GenerateRequest& request, pipeline::Context& context) override;

 private:
  struct Encoded {
    at::Tensor prompt;                   // [1, T, J]
    std::optional<at::Tensor> negative;  // [1, T', J], with true classifier-free guidance
  };
  /// Packed tokens of the picture.
  struct Grid {
    int64_t rows = 0;
    int64_t columns = 0;
  };

  Grid grid_of(const pipeline::GenerateRequest& request) const;
  Encoded encode(const pipeline::GenerateRequest& request, pipeline::Context& context) const;
  at::Tensor denoise(const pipeline::GenerateRequest& request, const Encoded& text, pipeline::Context& context) const;
  at::Tensor decode(const at::Tensor& latents, const pipeline::GenerateRequest& request,
                    pipeline::Context& context) const;

  weights::PipelineFolder folder_;
  QwenImageConfigs configs_;
};

}  // namespace tessera::models
