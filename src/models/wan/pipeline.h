// diffusers' WanPipeline and WanImageToVideoPipeline: text, or text and a first frame, to video with Wan 2.1 and 2.2.
#pragma once

#include "tensor/aten.h"

#include "models/wan/image_condition.h"
#include "models/wan/pipeline_config.h"
#include "pipeline/pipeline.h"
#include "weights/pipeline_folder.h"

namespace tessera::models {

class WanPipeline final : public pipeline::Pipeline {
 public:
  /// Row of models/catalog, for both classes. Reads configs only. Errors: those of read_wan_configs.
  static Result<std::unique_ptr<pipeline::Pipeline>> open(const weights::PipelineFolder& folder);

  WanPipeline(weights::PipelineFolder folder, WanConfigs configs)
      : folder_(std::move(folder)), configs_(std::move(configs)) {}

  /// An image may still be absent here, so that the sizes of a model can be asked for without one.
  Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request) const override;
  std::vector<pipeline::AttentionSite> attention_sites(const pipeline::GenerateRequest& request) const override;
  /// Errors: also throws RuntimeFault{Usage} when image-to-video has no image.
  pipeline::Media generate(const pipeline::GenerateRequest& request, pipeline::Context& context) override;

 private:
  struct Encoded {
    at::Tensor prompt;                   // [1, T, text_dim]
    std::optional<at::Tensor> negative;  ///< with guidance
  };

  Encoded encode(const pipeline::GenerateRequest& request, pipeline::Context& context) const;
  std::optional<WanCondition> condition(const pipeline::GenerateRequest& request, pipeline::Context& context) const;
  at::Tensor denoise(const pipeline::GenerateRequest& request, const Encoded& text,
                     const std::optional<WanCondition>& given, const at::Tensor& noise,
                     pipeline::Context& context) const;
  at::Tensor decode(const at::Tensor& latents, const pipeline::GenerateRequest& request,
                    pipeline::Context& context) const;
  at::Tensor preview(const at::Tensor& latents, const pipeline::GenerateRequest& request,
                     const pipeline::Context& context) const;

  weights::PipelineFolder folder_;
  WanConfigs configs_;
};

}  // namespace tessera::models
