#include "models/qwen_image/pipeline.h"

#include "base/check.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/unwrap.h"
#include "models/component_class.h"
#include "models/flux/latents.h"
#include "models/qwen_image/prompt.h"
#include "models/qwen_image/transformer.h"
#include "models/vae/wan.h"
#include "pipeline/completion.h"
#include "pipeline/denoise.h"
#include "pipeline/frames.h"
#include "pipeline/guidance.h"
#include "pipeline/stage.h"
#include "schedulers/catalog.h"
#include "schedulers/flow_match_schedule.h"
#include "tensor/rng.h"

namespace tessera::models {
namespace {

using pipeline::Context;
using pipeline::GenerateRequest;

constexpr int64_t kDefaultSampleSize = 128;  // in latent cells, of diffusers' QwenImagePipeline
constexpr int64_t kDefaultSequenceLength = 512;
constexpr int64_t kMaxSequenceLength = 1024;
constexpr double kTrainTimesteps = 1000;

bool uses_guidance(const GenerateRequest& request) {
  return *request.true_cfg_scale > 1 && request.negative_prompt.has_value();
}

/// What the reference warns of and then leaves alone.
void warn_of_ignored(const GenerateRequest& request) {
  const bool scaled = *request.true_cfg_scale > 1;
  if (scaled && !request.negative_prompt) {
    log::warning(strings::join("true_cfg_scale is ", *request.true_cfg_scale,
                               " but there is no negative_prompt: the picture is made without guidance"));
  } else if (!scaled && request.negative_prompt) {
    log::warning("negative_prompt is not used because true_cfg_scale is not above 1");
  }
  if (request.guidance_scale) {
    log::warning("guidance_scale is not used: this model has no guidance embedding; see true_cfg_scale");
  }
}

Status check_configs(const QwenImageConfigs& c) {
  const auto disagree = [](const char* what, int64_t a, int64_t b) {
    return fail(ErrorCode::BadFile, strings::join("the model's configs disagree about ", what, ": ", a, " and ", b));
  };
  if (c.transformer.joint_attention_dim != c.text_encoder.hidden_size) {
    return disagree("the size of the text embeddings", c.transformer.joint_attention_dim, c.text_encoder.hidden_size);
  }
  if (c.transformer.in_channels != 4 * c.vae.z_dim) {
    return disagree("the latent channels", c.transformer.in_channels, 4 * c.vae.z_dim);
  }
  if (c.vae.out_channels != 3) return disagree("the colour channels", c.vae.out_channels, 3);
  return {};
}

/// This autoencoder's config does not name its factor; it doubles once for every entry of temperal_downsample.
Result<WanVaeConfig> parse_vae_config(const Json& config) {
  TESSERA_TRY(WanVaeConfig c, parse_wan_vae_config(config));
  c.scale_factor_spatial = int64_t{1} << c.temporal_downsample.size();
  TESSERA_TRY(c.out_channels, json::value_or(config, "input_channels", c.out_channels));
  c.in_channels = c.out_channels;
  return c;
}

Status check_request(const GenerateRequest& r, int64_t multiple) {
  TESSERA_TRY_OK(pipeline::check_multiple("height", *r.height, multiple));
  TESSERA_TRY_OK(pipeline::check_multiple("width", *r.width, multiple));
  TESSERA_TRY_OK(pipeline::check_range("num_inference_steps", *r.num_inference_steps, 1, 1000));
  TESSERA_TRY_OK(pipeline::check_range("max_sequence_length", *r.max_sequence_length, 1, kMaxSequenceLength));
  TESSERA_TRY_OK(pipeline::check_range("num_frames", *r.num_frames, 1, 1));
  TESSERA_TRY_OK(pipeline::check_finite("true_cfg_scale", r.true_cfg_scale));
  TESSERA_TRY_OK(pipeline::check_finite("guidance_scale", r.guidance_scale));
  if (r.image) return fail(ErrorCode::Usage, "QwenImagePipeline takes no input image", "leave the image out");
  return {};
}

}  // namespace

Result<std::unique_ptr<pipeline::Pipeline>> QwenImagePipeline::open(const weights::PipelineFolder& folder) {
  TESSERA_TRY_OK(expect_classes(folder, {{"text_encoder", "Qwen2_5_VLForConditionalGeneration"},
                                         {"transformer", "QwenImageTransformer2DModel"},
                                         {"vae", "AutoencoderKLQwenImage"}}));
  QwenImageConfigs configs;
  TESSERA_TRY(const Json text, folder.config("text_encoder"));
  TESSERA_TRY(configs.text_encoder, parse_qwen_lm_config(text));
  TESSERA_TRY(const Json transformer, folder.config("transformer"));
  TESSERA_TRY(configs.transformer, parse_qwen_image_config(transformer));
  TESSERA_TRY(const Json vae, folder.config("vae"));
  TESSERA_TRY(configs.vae, parse_vae_config(vae));
  TESSERA_TRY(configs.scheduler, folder.config("scheduler", "scheduler_config.json"));
  TESSERA_TRY_OK(schedulers::parse_flow_match_config(configs.scheduler));
  TESSERA_TRY_OK(check_configs(configs));
  return std::make_unique<QwenImagePipeline>(folder, std::move(configs));
}

Result<GenerateRequest> QwenImagePipeline::complete(const GenerateRequest& request) const {
  GenerateRequest defaults;
  defaults.height = defaults.width = kDefaultSampleSize * configs_.vae.scale_factor_spatial;
  defaults.num_inference_steps = 50;
  defaults.true_cfg_scale = 4.0;
  defaults.max_sequence_length = kDefaultSequenceLength;
  defaults.num_frames = 1;
  TESSERA_TRY(GenerateRequest full, pipeline::fill_defaults(request, defaults, folder_.path));
  TESSERA_TRY_OK(check_request(full, 2 * configs_.vae.scale_factor_spatial));
  return full;
}

QwenImagePipeline::Grid QwenImagePipeline::grid_of(const GenerateRequest& request) const {
  const int64_t side = 2 * configs_.vae.scale_factor_spatial;
  return {*request.height / side, *request.width / side};
}

std::vector<pipeline::AttentionSite> QwenImagePipeline::attention_sites(const GenerateRequest& request) const {
  const Grid grid = grid_of(request);
  const int64_t text = *request.max_sequence_length;
  return {qwen_lm_attention_site(configs_.text_encoder, "text_encoder", kQwenImageDropped + text),
          qwen_image_attention_site(configs_.transformer, text, grid.rows * grid.columns),
          wan_vae_attention_site(configs_.vae, 1, 2 * grid.rows, 2 * grid.columns)};
}

QwenImagePipeline::Encoded QwenImagePipeline::encode(const GenerateRequest& request, Context& context) const {
  const pipeline::Stage stage("encode", context, &pipeline::Timings::encode);
  const auto tokenizer = unwrap(text::load_tokenizer(folder_.folder("tokenizer")));
  const auto encoder = pipeline::load_component<QwenLm>(folder_, "text_encoder", configs_.text_encoder,
                                                        {.dtype = context.dtype, .unused = qwen_lm_unused()}, context);
  const auto embed = [&](const char* tag, const std::string& text) {
    return encode_qwen_image_prompt({tag, text}, *request.max_sequence_length, *tokenizer, encoder, context);
  };
  Encoded out{embed("prompt", request.prompt), std::nullopt};
  context.record("prompt_embeds", out.prompt);
  if (!uses_guidance(request)) return out;
  context.check_cancelled();
  out.negative = embed("negative", *request.negative_prompt);
  context.record("negative_prompt_embeds", *out.negative);
  return out;
}

at::Tensor QwenImagePipeline::denoise(const GenerateRequest& request, const Encoded& text, Context& context) const {
  const Grid grid = grid_of(request);
  at::Generator generator = tensor::cpu_generator(request.seed);
  const at::Tensor noise =
      tensor::randn({1, configs_.transformer.in_channels / 4, 2 * grid.rows, 2 * grid.columns}, generator);
  const at::Tensor latents = pack_latents(noise).to(context.device);
  context.record("latents/initial", latents);

  const auto config = unwrap(schedulers::parse_flow_match_config(configs_.scheduler));
  const schedulers::ScheduleRequest wanted{.num_steps = *request.num_inference_steps,
                                           .sigmas = schedulers::even_sigmas(*request.num_inference_steps),
                                           .mu = schedulers::dynamic_shift(config, grid.rows * grid.columns),
                                           .generator = generator};
  const auto scheduler = unwrap(schedulers::make_scheduler(configs_.scheduler, wanted));
  const auto transformer = pipeline::load_component<QwenImageTransformer>(folder_, "transformer", configs_.transformer,
                                                                          {.dtype = context.dtype}, context);

  const auto call = [&](const at::Tensor& x, const at::Tensor& embeds, int64_t step, const char* tag) {
    const at::Tensor time = scheduler->timesteps().slice(0, step, step + 1).to(context.device) / kTrainTimesteps;
    const auto scope = pipeline::scope_of(
        context, "transformer", context.trace == nullptr ? std::string() : strings::join("step", step, "/", tag));
    return transformer.forward({x.to(context.dtype), embeds, time, grid.rows, grid.columns}, scope).to(at::kFloat);
  };
  const auto predict = [&](const at::Tensor& x, int64_t step) {
    const at::Tensor cond = call(x, text.prompt, step, "cond");
    if (!text.negative) return cond;
    const at::Tensor uncond = call(x, *text.negative, step, "uncond");
    return pipeline::rescale_to_norm_of(pipeline::classifier_free_guidance(cond, uncond, *request.true_cfg_scale),
                                        cond);
  };
  const auto preview = [&](const at::Tensor& x) {
    Context quiet = {.engine = context.engine, .device = context.device, .dtype = context.dtype};
    return pipeline::to_frames(decode(x, request, quiet));
  };
  return pipeline::denoise(latents, {*scheduler, predict, preview}, context);
}

at::Tensor QwenImagePipeline::decode(const at::Tensor& latents, const GenerateRequest& request,
                                     Context& context) const {
  const pipeline::Stage stage("decode", context, &pipeline::Timings::decode);
  const auto decoder = pipeline::load_component<WanDecoder>(
      folder_, "vae", configs_.vae, {.dtype = context.dtype, .unused = {"encoder.", "quant_conv."}}, context);
  const Grid grid = grid_of(request);
  const at::Tensor unpacked = unpack_latents(latents, 2 * grid.rows, 2 * grid.columns).unsqueeze(2);
  const at::Tensor z = wan_unscale_latents(unpacked.to(context.dtype), configs_.vae);  // [1, C, 1, h, w]
  context.record("vae/decode/in", z);
  const auto scope = pipeline::scope_of(context, "vae", "vae/decoder");
  at::Tensor image;  // [1, 3, 1, H, W]
  const auto keep = [&](const at::Tensor& frames, int64_t) { image = frames; };
  if (request.vae_tiling) {
    decoder.decode_tiled(z, scope, keep);
  } else {
    decoder.decode(z, scope, keep);
  }
  context.record("vae/decode/out", image);
  return image.select(2, 0);
}

pipeline::Media QwenImagePipeline::generate(const GenerateRequest& request, Context& context) {
  TESSERA_CHECK(request.height && request.width && request.num_inference_steps && request.true_cfg_scale &&
                    request.max_sequence_length,
                "generate takes completed requests");
  const c10::InferenceMode inference;
  warn_of_ignored(request);
  const Encoded text = encode(request, context);
  const at::Tensor latents = denoise(request, text, context);
  const at::Tensor frames = pipeline::to_frames(decode(latents, request, context));
  context.record("image", frames[0]);
  return {.frames = frames, .fps = 0};
}

}  // namespace tessera::models
