// diffusers' FluxPipeline: text to picture with FLUX.1 (dev, schnell, and models of their shape).
#pragma once

#include "tensor/aten.h"

#include "models/flux/config.h"
#include "models/text/clip.h"
#include "models/text/t5.h"
#include "models/vae/kl_config.h"
#include "pipeline/pipeline.h"
#include "schedulers/flow_match_schedule.h"
#include "weights/pipeline_folder.h"

namespace tessera::models {

/// The configs of all components.
struct FluxConfigs {
  ClipConfig clip;
  T5Config t5;
  FluxConfig transformer;
  KlConfig vae;
  Json scheduler;
};

class FluxPipeline final : public pipeline::Pipeline {
 public:
  /// Row of models/catalog. Reads configs only. Errors: those of the configs; Unsupported for other component classes.
  static Result<std::unique_ptr<pipeline::Pipeline>> open(const weights::PipelineFolder& folder);

  FluxPipeline(weights::PipelineFolder folder, FluxConfigs configs)
      : folder_(std::move(folder)), configs_(std::move(configs)) {}

  Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request) const override;
  std::vector<pipeline::AttentionSite> attention_sites(const pipeline::GenerateRequest& request) const override;
  pipeline::Media generate(const pipeline::GenerateRequest& request, pipeline::Context& context) override;

 private:
  struct Conditioning {
    at::Tensor prompt_embeds;         // [1, T, J]
    at::Tensor pooled_prompt_embeds;  // [1, P]
    at::Tensor text_ids;              // [T, 3]
  };
  struct Encoded {
    Conditioning prompt;
    std::optional<Conditioning> negative;  ///< with true classifier-free guidance
  };
  /// One text under its tag in the trace.
  struct TaggedText {
    const char* tag;
    std::string text;
  };

  Encoded encode(const pipeline::GenerateRequest& request, pipeline::Context& context) const;
  std::vector<at::Tensor> encode_clip(const std::vector<TaggedText>& texts, pipeline::Context& context) const;
  std::vector<at::Tensor> encode_t5(const std::vector<TaggedText>& texts, int64_t max_length,
                                    pipeline::Context& context) const;
  at::Tensor denoise(const pipeline::GenerateRequest& request, const Encoded& text, pipeline::Context& context) const;
  at::Tensor decode(const at::Tensor& latents, const pipeline::GenerateRequest& request,
                    pipeline::Context& context) const;

  weights::PipelineFolder folder_;
  FluxConfigs configs_;
};

}  // namespace tessera::models
