// diffusers' ZImagePipeline: text to picture with Z-Image.
#pragma once

#include "tensor/aten.h"

#include "models/text/qwen_lm.h"
#include "models/vae/kl_config.h"
#include "models/z_image/config.h"
#include "pipeline/pipeline.h"
#include "weights/pipeline_folder.h"

namespace tessera::models {

class ZImageTransformer;

/// The configs of all components.
struct ZImageConfigs {
  QwenLmConfig text_encoder;
  ZImageConfig transformer;
  KlConfig vae;
  Json scheduler;
};

class ZImagePipeline final : public pipeline::Pipeline {
 public:
  /// Row of models/catalog. Reads configs only. Errors: those of the configs; Unsupported for other component classes.
  static Result<std::unique_ptr<pipeline::Pipeline>> open(const weights::PipelineFolder& folder);

  ZImagePipeline(weights::PipelineFolder folder, ZImageConfigs configs)
      : folder_(std::move(folder)), configs_(std::move(configs)) {}

  Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request) const override;
  std::vector<pipeline::AttentionSite> attention_sites(const pipeline::GenerateRequest& request) const override;
  pipeline::Media generate(const pipeline::GenerateRequest& request, pipeline::Context& context) override;

 private:
  struct Encoded {
    at::Tensor prompt;                   // [T, C]
    std::optional<at::Tensor> negative;  // [T', C], with guidance
  };

  Encoded encode(const pipeline::GenerateRequest& request, pipeline::Context& context) const;
  at::Tensor denoise(const pipeline::GenerateRequest& request, const Encoded& text, pipeline::Context& context) const;
  at::Tensor decode(const at::Tensor& latents, const pipeline::GenerateRequest& request,
                    pipeline::Context& context) const;

  weights::PipelineFolder folder_;
  ZImageConfigs configs_;
};

}  // namespace tessera::models
