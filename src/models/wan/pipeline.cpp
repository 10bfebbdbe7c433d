#include "models/wan/pipeline.h"

#include "base/check.h"
#include "base/strings.h"
#include "base/unwrap.h"
#include "models/text/prompt_tokens.h"
#include "models/vae/wan.h"
#include "models/wan/experts.h"
#include "pipeline/denoise.h"
#include "pipeline/frames.h"
#include "pipeline/guidance.h"
#include "pipeline/stage.h"
#include "schedulers/catalog.h"
#include "tensor/rng.h"
#include "text/prompt_cleaning.h"

namespace tessera::models {
namespace {

using pipeline::Context;
using pipeline::GenerateRequest;

bool is_guided(const GenerateRequest& request) {
  return *request.guidance_scale > 1;
}

/// The last hidden state with zeros behind the text. hidden [1, T, C]
at::Tensor without_padding(const at::Tensor& hidden, int64_t length) {
  at::Tensor out = hidden.clone();
  out.slice(1, length).zero_();
  return out;
}

at::Tensor mask_tensor(const std::vector<int64_t>& mask) {
  at::Tensor out = at::empty({1, static_cast<int64_t>(mask.size())}, at::kLong);
  std::copy(mask.begin(), mask.end(), out.mutable_data_ptr<int64_t>());
  return out;
}

/// 1 for every patch that is denoised, 0 for those of a given first frame: [1, S] float32.
at::Tensor open_patches(const std::optional<WanCondition>& given, const at::Tensor& latents, const WanConfig& config) {
  const auto& p = config.patch_size;
  const at::Tensor open =
      given ? given->open : at::ones({1, 1, latents.size(2), latents.size(3), latents.size(4)}, latents.options());
  return open.slice(2, 0, std::nullopt, p[0])
      .slice(3, 0, std::nullopt, p[1])
      .slice(4, 0, std::nullopt, p[2])
      .flatten()
      .unsqueeze(0);
}

/// [1, 3, f, H, W] → [f, H, W, 3] uint8
at::Tensor video_frames(const at::Tensor& video) {
  return pipeline::to_frames(video[0].permute({1, 0, 2, 3}));
}

}  // namespace

Result<std::unique_ptr<pipeline::Pipeline>> WanPipeline::open(const weights::PipelineFolder& folder) {
  TESSERA_TRY(WanConfigs configs, read_wan_configs(folder));
  return std::make_unique<WanPipeline>(folder, std::move(configs));
}

Result<GenerateRequest> WanPipeline::complete(const GenerateRequest& request) const {
  return complete_wan_request(request, configs_, folder_.path);
}

std::vector<pipeline::AttentionSite> WanPipeline::attention_sites(const GenerateRequest& request) const {
  const WanSize z = wan_latent_size(request, configs_);
  const int64_t text_tokens = *request.max_sequence_length;
  std::vector<pipeline::AttentionSite> sites = {t5_attention_site(configs_.text, "text_encoder", text_tokens)};
  const auto add = [&](const WanConfig& config, const char* component) {
    for (auto& site : wan_attention_sites(config, component, wan_tokens(z, config), text_tokens)) {
      sites.push_back(std::move(site));
    }
  };
  add(configs_.transformer, WanExperts::component(false));
  if (configs_.transformer_2) add(*configs_.transformer_2, WanExperts::component(true));
  sites.push_back(wan_vae_attention_site(configs_.vae, z.frames, z.height, z.width));
  return sites;
}

WanPipeline::Encoded WanPipeline::encode(const GenerateRequest& request, Context& context) const {
  const pipeline::Stage stage("encode", context, &pipeline::Timings::encode);
  const auto tokenizer = unwrap(text::load_tokenizer(folder_.folder("tokenizer")));
  const auto encoder = pipeline::load_component<T5Encoder>(
      folder_, "text_encoder", configs_.text,
      {.dtype = context.dtype, .unused = {"encoder.embed_tokens.weight", "decoder.", "lm_head."}}, context);
  const auto embed = [&](const std::string& prompt, const char* tag) {
    const std::string cleaned = unwrap(text::clean_prompt(prompt));
    const PromptTokens tokens = tokenize_prompt(*tokenizer, cleaned, *request.max_sequence_length, "UMT5");
    context.record(strings::join("tokens/text_encoder/", tag, "/input_ids"), tokens.ids);
    context.record(strings::join("tokens/text_encoder/", tag, "/attention_mask"), mask_tensor(tokens.mask));
    const auto scope = pipeline::scope_of(context, "text_encoder", strings::join("text/text_encoder/", tag));
    return without_padding(encoder.forward(tokens.ids, {{tokens.length}}, scope), tokens.length);
  };
  Encoded out{embed(request.prompt, "prompt"), std::nullopt};
  context.record("prompt_embeds", out.prompt);
  if (!is_guided(request)) return out;
  out.negative = embed(request.negative_prompt.value_or(""), "negative");
  context.record("negative_prompt_embeds", *out.negative);
  return out;
}

std::optional<WanCondition> WanPipeline::condition(const GenerateRequest& request, Context& context) const {
  if (!configs_.image_to_video) return std::nullopt;
  context.check_cancelled();
  return encode_wan_condition(request, configs_, folder_, context);
}

at::Tensor WanPipeline::denoise(const GenerateRequest& request, const Encoded& text,
                                const std::optional<WanCondition>& given, const at::Tensor& noise,
                                Context& context) const {
  const auto scheduler = unwrap(schedulers::make_scheduler(
      configs_.scheduler, {.num_steps = *request.num_inference_steps, .sigmas = {}, .mu = {}, .generator = {}}));
  WanExperts experts(folder_, configs_, context);
  const at::Tensor open = configs_.expand_timesteps ? open_patches(given, noise, configs_.transformer) : at::Tensor();

  const auto predict = [&](const at::Tensor& latents, int64_t step) {
    const at::Tensor t = scheduler->timesteps().slice(0, step, step + 1).to(context.device);
    const bool second = experts.is_second(t.item().toDouble());
    const WanTransformer& transformer = experts.get(second);
    WanInputs inputs{.hidden_states = (given ? given->model_input(latents) : latents).to(context.dtype),
                     .timestep = open.defined() ? open * t : t,
                     .encoder_hidden_states = text.prompt};
    const auto call = [&](const char* tag) {
      const auto scope =
          pipeline::scope_of(context, WanExperts::component(second),
                             context.trace == nullptr ? std::string() : strings::join("step", step, "/", tag));
      return transformer.forward(inputs, scope).to(at::kFloat);
    };
    const at::Tensor cond = call("cond");
    if (!text.negative) return cond;
    inputs.encoder_hidden_states = *text.negative;
    const double scale = second ? *request.guidance_scale_2 : *request.guidance_scale;
    return pipeline::classifier_free_guidance(cond, call("uncond"), scale);
  };
  const auto show = [&](const at::Tensor& latents) {
    return preview(given ? given->restored(latents) : latents, request, context);
  };
  const at::Tensor latents = pipeline::denoise(noise, {*scheduler, predict, show}, context);
  return given ? given->restored(latents) : latents;
}

at::Tensor WanPipeline::decode(const at::Tensor& latents, const GenerateRequest& request, Context& context) const {
  const WanVaeConfig& vae = configs_.vae;
  const int64_t count = (latents.size(2) - 1) * vae.scale_factor_temporal + 1;
  const pipeline::Stage stage("decode", context, &pipeline::Timings::decode, count);
  const auto decoder = pipeline::load_component<WanDecoder>(
      folder_, "vae", vae, {.dtype = context.dtype, .unused = {"encoder.", "quant_conv."}}, context);
  const at::Tensor z = wan_unscale_latents(latents.to(context.dtype), vae);
  context.record("vae/decode/in", z);
  at::Tensor frames = at::empty({count, *request.height, *request.width, 3}, at::kByte);
  std::vector<at::Tensor> raw;
  // Pixels at once, so that only one piece of the video is held in floating point.
  const auto keep = [&](const at::Tensor& piece, int64_t first) {
    context.check_cancelled();
    const int64_t end = first + piece.size(2);
    frames.slice(0, first, end).copy_(video_frames(piece));
    if (context.trace != nullptr) raw.push_back(piece);
    if (context.progress != nullptr) context.progress->advance("decode", end);
  };
  const auto scope = pipeline::scope_of(context, "vae", "vae/decoder");
  if (request.vae_tiling) {
    decoder.decode_tiled(z, scope, keep);
  } else {
    decoder.decode(z, scope, keep);
  }
  if (context.trace != nullptr) context.record("vae/decode/out", at::cat(raw, 2));
  return frames;
}

/// A frame of the video at this point: decoding all of it after each step would take longer than the steps.
at::Tensor WanPipeline::preview(const at::Tensor& latents, const GenerateRequest& request,
                                const Context& context) const {
  Context quiet = {.engine = context.engine, .device = context.device, .dtype = context.dtype};
  // The first frame of image-to-video is the given one.
  const int64_t pieces = std::min<int64_t>(latents.size(2), configs_.image_to_video ? 2 : 1);
  return decode(latents.slice(2, 0, pieces), request, quiet).slice(0, -1);
}

pipeline::Media WanPipeline::generate(const GenerateRequest& request, Context& context) {
  TESSERA_CHECK(request.height && request.width && request.num_frames && request.num_inference_steps &&
                    request.guidance_scale && request.max_sequence_length && request.fps,
                "generate takes completed requests");
  if (configs_.image_to_video && !request.image) {
    throw RuntimeFault({ErrorCode::Usage, "WanImageToVideoPipeline needs the first frame", "name one with --image"});
  }
  const c10::InferenceMode inference;
  const Encoded text = encode(request, context);
  const WanSize z = wan_latent_size(request, configs_);
  at::Generator generator = tensor::cpu_generator(request.seed);
  const at::Tensor noise =
      tensor::randn({1, configs_.vae.z_dim, z.frames, z.height, z.width}, generator).to(context.device);
  context.record("latents/initial", noise);
  const std::optional<WanCondition> given = condition(request, context);
  const at::Tensor latents = denoise(request, text, given, noise, context);
  const at::Tensor frames = decode(latents, request, context);
  context.record("frames", frames);
  return {.frames = frames, .fps = *request.fps};
}

}  // namespace tessera::models
