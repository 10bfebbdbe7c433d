#include "models/flux/pipeline.h"

#include "base/check.h"
#include "base/strings.h"
#include "base/unwrap.h"
#include "models/component_class.h"
#include "models/flux/latents.h"
#include "models/flux/transformer.h"
#include "models/text/prompt_tokens.h"
#include "models/vae/kl_stage.h"
#include "pipeline/completion.h"
#include "pipeline/denoise.h"
#include "pipeline/frames.h"
#include "pipeline/guidance.h"
#include "pipeline/stage.h"
#include "schedulers/catalog.h"
#include "tensor/rng.h"

namespace tessera::models {
namespace {

using pipeline::Context;
using pipeline::GenerateRequest;

constexpr int64_t kDefaultSampleSize = 128;  // in latent cells, of diffusers' FluxPipeline
constexpr int64_t kMaxSequenceLength = 512;
constexpr double kTrainTimesteps = 1000;

bool uses_true_cfg(const GenerateRequest& request) {
  return request.true_cfg_scale.value_or(1.0) > 1 && request.negative_prompt.has_value();
}

/// Packed tokens on a side.
int64_t token_side(int64_t pixels, const KlConfig& vae) {
  return pixels / (2 * vae.spatial_factor());
}

schedulers::ScheduleRequest schedule_request(int64_t steps, const schedulers::FlowMatchConfig& config,
                                             int64_t image_tokens) {
  schedulers::ScheduleRequest out;
  out.num_steps = steps;
  out.mu = schedulers::dynamic_shift(config, image_tokens);
  if (!config.use_flow_sigmas) out.sigmas = schedulers::even_sigmas(steps);
  return out;
}

Status check_configs(const FluxConfigs& c) {
  const auto disagree = [](const char* what, int64_t a, int64_t b) {
    return fail(ErrorCode::BadFile, strings::join("the model's configs disagree about ", what, ": ", a, " and ", b));
  };
  if (c.transformer.joint_attention_dim != c.t5.d_model) {
    return disagree("the size of the text embeddings", c.transformer.joint_attention_dim, c.t5.d_model);
  }
  if (c.transformer.pooled_projection_dim != c.clip.hidden_size) {
    return disagree("the size of the pooled text", c.transformer.pooled_projection_dim, c.clip.hidden_size);
  }
  if (c.transformer.in_channels != 4 * c.vae.latent_channels) {
    return disagree("the latent channels", c.transformer.in_channels, 4 * c.vae.latent_channels);
  }
  if (c.vae.out_channels != 3) return disagree("the colour channels", c.vae.out_channels, 3);
  return {};
}

}  // namespace

Result<std::unique_ptr<pipeline::Pipeline>> FluxPipeline::open(const weights::PipelineFolder& folder) {
  TESSERA_TRY_OK(expect_classes(folder, {{"text_encoder", "CLIPTextModel"},
                                         {"text_encoder_2", "T5EncoderModel"},
                                         {"transformer", "FluxTransformer2DModel"},
                                         {"vae", "AutoencoderKL"}}));
  FluxConfigs configs;
  TESSERA_TRY(const Json clip, folder.config("text_encoder"));
  TESSERA_TRY(configs.clip, parse_clip_config(clip));
  TESSERA_TRY(const Json t5, folder.config("text_encoder_2"));
  TESSERA_TRY(configs.t5, parse_t5_config(t5));
  TESSERA_TRY(const Json transformer, folder.config("transformer"));
  TESSERA_TRY(configs.transformer, parse_flux_config(transformer));
  TESSERA_TRY(const Json vae, folder.config("vae"));
  TESSERA_TRY(configs.vae, parse_kl_config(vae));
  TESSERA_TRY(configs.scheduler, folder.config("scheduler", "scheduler_config.json"));
  TESSERA_TRY_OK(schedulers::parse_flow_match_config(configs.scheduler));
  TESSERA_TRY_OK(check_configs(configs));
  return std::make_unique<FluxPipeline>(folder, std::move(configs));
}

Result<GenerateRequest> FluxPipeline::complete(const GenerateRequest& request) const {
  const int64_t default_side = kDefaultSampleSize * configs_.vae.spatial_factor();
  GenerateRequest defaults;
  defaults.height = default_side;
  defaults.width = default_side;
  defaults.num_inference_steps = 28;
  defaults.guidance_scale = 3.5;
  defaults.true_cfg_scale = 1.0;
  defaults.max_sequence_length = kMaxSequenceLength;
  defaults.num_frames = 1;
  TESSERA_TRY(GenerateRequest full, pipeline::fill_defaults(request, defaults, folder_.path));
  const int64_t multiple = 2 * configs_.vae.spatial_factor();
  TESSERA_TRY_OK(pipeline::check_multiple("height", *full.height, multiple));
  TESSERA_TRY_OK(pipeline::check_multiple("width", *full.width, multiple));
  TESSERA_TRY_OK(pipeline::check_range("num_inference_steps", *full.num_inference_steps, 1, 1000));
  TESSERA_TRY_OK(pipeline::check_range("max_sequence_length", *full.max_sequence_length, 1, kMaxSequenceLength));
  TESSERA_TRY_OK(pipeline::check_range("num_frames", *full.num_frames, 1, 1));
  TESSERA_TRY_OK(pipeline::check_finite("guidance_scale", full.guidance_scale));
  TESSERA_TRY_OK(pipeline::check_finite("true_cfg_scale", full.true_cfg_scale));
  if (full.image) return fail(ErrorCode::Usage, "FluxPipeline takes no input image", "leave the image out");
  return full;
}

std::vector<pipeline::AttentionSite> FluxPipeline::attention_sites(const GenerateRequest& request) const {
  const int64_t clip_tokens = tokenizer_max_length(folder_.folder("tokenizer"), configs_.clip.max_position_embeddings);
  const int64_t rows = token_side(*request.height, configs_.vae);
  const int64_t columns = token_side(*request.width, configs_.vae);
  std::vector<pipeline::AttentionSite> sites = {
      clip_attention_site(configs_.clip, "text_encoder", clip_tokens),
      t5_attention_site(configs_.t5, "text_encoder_2", *request.max_sequence_length)};
  for (auto& site : flux_attention_sites(configs_.transformer, *request.max_sequence_length, rows * columns)) {
    sites.push_back(std::move(site));
  }
  for (auto& site : kl_attention_sites(configs_.vae, 2 * rows, 2 * columns)) sites.push_back(std::move(site));
  return sites;
}

std::vector<at::Tensor> FluxPipeline::encode_clip(const std::vector<TaggedText>& texts, Context& context) const {
  const auto folder = folder_.folder("tokenizer");
  const auto tokenizer = unwrap(text::load_tokenizer(folder));
  const int64_t length = tokenizer_max_length(folder, configs_.clip.max_position_embeddings);
  const auto encoder = pipeline::load_component<ClipTextEncoder>(
      folder_, "text_encoder", configs_.clip,
      {.dtype = context.dtype, .unused = {"text_model.embeddings.position_ids", "text_projection"}}, context);
  std::vector<at::Tensor> pooled;
  for (const TaggedText& t : texts) {
    const PromptTokens tokens = tokenize_prompt(*tokenizer, t.text, length, "CLIP");
    context.record(strings::join("tokens/text_encoder/", t.tag, "/input_ids"), tokens.ids);
    const auto scope = pipeline::scope_of(context, "text_encoder", strings::join("text/text_encoder/", t.tag));
    pooled.push_back(encoder.forward(tokens.ids, scope).pooled);
  }
  return pooled;
}

std::vector<at::Tensor> FluxPipeline::encode_t5(const std::vector<TaggedText>& texts, int64_t max_length,
                                                Context& context) const {
  const auto tokenizer = unwrap(text::load_tokenizer(folder_.folder("tokenizer_2")));
  const auto encoder = pipeline::load_component<T5Encoder>(
      folder_, "text_encoder_2", configs_.t5,
      {.dtype = context.dtype, .unused = {"encoder.embed_tokens.weight", "decoder.", "lm_head."}}, context);
  std::vector<at::Tensor> embeds;
  for (const TaggedText& t : texts) {
    const PromptTokens tokens = tokenize_prompt(*tokenizer, t.text, max_length, "T5");
    context.record(strings::join("tokens/text_encoder_2/", t.tag, "/input_ids"), tokens.ids);
    const auto scope = pipeline::scope_of(context, "text_encoder_2", strings::join("text/text_encoder_2/", t.tag));
    // The reference gives T5 no mask here: padding takes part in the attention.
    embeds.push_back(encoder.forward(tokens.ids, std::nullopt, scope));
  }
  return embeds;
}

FluxPipeline::Encoded FluxPipeline::encode(const GenerateRequest& request, Context& context) const {
  const pipeline::Stage stage("encode", context, &pipeline::Timings::encode);
  std::vector<TaggedText> clip = {{"prompt", request.prompt}};
  std::vector<TaggedText> t5 = {{"prompt", request.prompt_2.value_or(request.prompt)}};
  if (uses_true_cfg(request)) {
    clip.push_back({"negative", *request.negative_prompt});
    t5.push_back({"negative", *request.negative_prompt});
  }
  const std::vector<at::Tensor> pooled = encode_clip(clip, context);
  context.check_cancelled();
  const std::vector<at::Tensor> embeds = encode_t5(t5, *request.max_sequence_length, context);
  const auto conditioning = [&](size_t i) {
    return Conditioning{embeds[i], pooled[i], at::zeros({embeds[i].size(1), 3}, embeds[i].options().dtype(at::kFloat))};
  };
  Encoded out{conditioning(0), std::nullopt};
  context.record("prompt_embeds", out.prompt.prompt_embeds);
  context.record("pooled_prompt_embeds", out.prompt.pooled_prompt_embeds);
  context.record("text_ids", out.prompt.text_ids);
  if (embeds.size() == 1) return out;
  out.negative = conditioning(1);
  context.record("negative_prompt_embeds", out.negative->prompt_embeds);
  context.record("negative_pooled_prompt_embeds", out.negative->pooled_prompt_embeds);
  context.record("negative_text_ids", out.negative->text_ids);
  return out;
}

at::Tensor FluxPipeline::denoise(const GenerateRequest& request, const Encoded& text, Context& context) const {
  const int64_t rows = token_side(*request.height, configs_.vae);
  const int64_t columns = token_side(*request.width, configs_.vae);
  at::Generator generator = tensor::cpu_generator(request.seed);
  const at::Tensor latents =
      pack_latents(tensor::randn({1, configs_.transformer.in_channels / 4, 2 * rows, 2 * columns}, generator))
          .to(context.device);
  const at::Tensor img_ids = image_ids(rows, columns).to(context.device);
  context.record("latents/initial", latents);
  context.record("img_ids", img_ids);

  const auto config = unwrap(schedulers::parse_flow_match_config(configs_.scheduler));
  auto wanted = schedule_request(*request.num_inference_steps, config, rows * columns);
  wanted.generator = generator;
  const auto scheduler = unwrap(schedulers::make_scheduler(configs_.scheduler, wanted));
  const auto transformer = pipeline::load_component<FluxTransformer>(folder_, "transformer", configs_.transformer,
                                                                     {.dtype = context.dtype}, context);

  const auto call = [&](const at::Tensor& x, const Conditioning& c, int64_t step, const char* tag) {
    FluxInputs inputs{.hidden_states = x.to(context.dtype),
                      .timestep = scheduler->timesteps().slice(0, step, step + 1).to(context.device) / kTrainTimesteps,
                      .guidance = {},
                      .pooled_projections = c.pooled_prompt_embeds,
                      .encoder_hidden_states = c.prompt_embeds,
                      .txt_ids = c.text_ids,
                      .img_ids = img_ids};
    if (configs_.transformer.guidance_embeds) {
      inputs.guidance = at::full({1}, *request.guidance_scale, img_ids.options());
    }
    const auto scope = pipeline::scope_of(
        context, "transformer", context.trace == nullptr ? std::string() : strings::join("step", step, "/", tag));
    return transformer.forward(inputs, scope).to(at::kFloat);
  };
  const auto predict = [&](const at::Tensor& x, int64_t step) {
    const at::Tensor cond = call(x, text.prompt, step, "cond");
    if (!text.negative) return cond;
    return pipeline::classifier_free_guidance(cond, call(x, *text.negative, step, "uncond"), *request.true_cfg_scale);
  };
  const auto preview = [&](const at::Tensor& x) {
    Context quiet = {.engine = context.engine, .device = context.device, .dtype = context.dtype};
    return pipeline::to_frames(decode(x, request, quiet));
  };
  return pipeline::denoise(latents, {*scheduler, predict, preview}, context);
}

at::Tensor FluxPipeline::decode(const at::Tensor& latents, const GenerateRequest& request, Context& context) const {
  const int64_t factor = configs_.vae.spatial_factor();
  const at::Tensor unpacked = unpack_latents(latents, *request.height / factor, *request.width / factor);
  return decode_kl_latents(folder_, configs_.vae, unpacked, request, context);
}

pipeline::Media FluxPipeline::generate(const GenerateRequest& request, Context& context) {
  TESSERA_CHECK(request.height && request.width && request.num_inference_steps && request.guidance_scale &&
                    request.true_cfg_scale && request.max_sequence_length,
                "generate takes completed requests");
  const c10::InferenceMode inference;
  const Encoded text = encode(request, context);
  const at::Tensor latents = denoise(request, text, context);
  const at::Tensor frames = pipeline::to_frames(decode(latents, request, context));
  context.record("image", frames[0]);
  return {.frames = frames, .fps = 0};
}

}  // namespace tessera::models
