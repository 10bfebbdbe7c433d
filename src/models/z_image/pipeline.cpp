#include "models/z_image/pipeline.h"

#include "base/check.h"
#include "base/strings.h"
#include "base/unwrap.h"
#include "models/component_class.h"
#include "models/text/chat_prompt.h"
#include "models/vae/kl_stage.h"
#include "models/z_image/guidance.h"
#include "models/z_image/transformer.h"
#include "pipeline/completion.h"
#include "pipeline/denoise.h"
#include "pipeline/frames.h"
#include "pipeline/stage.h"
#include "schedulers/catalog.h"
#include "schedulers/flow_match_schedule.h"
#include "tensor/rng.h"

namespace tessera::models {
namespace {

using pipeline::Context;
using pipeline::GenerateRequest;

constexpr int64_t kDefaultSide = 1024;
constexpr int64_t kDefaultSequenceLength = 512;
constexpr int64_t kMaxSequenceLength = 8192;
constexpr double kTrainTimesteps = 1000;

Status check_configs(const ZImageConfigs& c) {
  const auto disagree = [](const char* what, int64_t a, int64_t b) {
    return fail(ErrorCode::BadFile, strings::join("the model's configs disagree about ", what, ": ", a, " and ", b));
  };
  if (c.transformer.cap_feat_dim != c.text_encoder.hidden_size) {
    return disagree("the size of the text embeddings", c.transformer.cap_feat_dim, c.text_encoder.hidden_size);
  }
  if (c.transformer.in_channels != c.vae.latent_channels) {
    return disagree("the latent channels", c.transformer.in_channels, c.vae.latent_channels);
  }
  if (c.vae.out_channels != 3) return disagree("the colour channels", c.vae.out_channels, 3);
  return {};
}

/// Pixels per token on a side.
int64_t token_side(const KlConfig& vae) {
  return kZImagePatch * vae.spatial_factor();
}

/// The rotary table has a fixed number of positions on each axis.
Status check_position(const char* what, int64_t tokens, int64_t limit) {
  if (tokens <= limit) return {};
  return fail(ErrorCode::Usage, strings::join(what, " needs ", tokens, " positions, the model has ", limit));
}

Status check_request(const GenerateRequest& r, const ZImageConfigs& c) {
  const int64_t side = token_side(c.vae);
  TESSERA_TRY_OK(pipeline::check_multiple("height", *r.height, side));
  TESSERA_TRY_OK(pipeline::check_multiple("width", *r.width, side));
  TESSERA_TRY_OK(check_position("height", *r.height / side, c.transformer.axes_lens[1]));
  TESSERA_TRY_OK(check_position("width", *r.width / side, c.transformer.axes_lens[2]));
  TESSERA_TRY_OK(pipeline::check_range("num_inference_steps", *r.num_inference_steps, 1, 1000));
  TESSERA_TRY_OK(pipeline::check_range("max_sequence_length", *r.max_sequence_length, 1, kMaxSequenceLength));
  TESSERA_TRY_OK(pipeline::check_range("num_frames", *r.num_frames, 1, 1));
  TESSERA_TRY_OK(pipeline::check_finite("guidance_scale", r.guidance_scale));
  TESSERA_TRY_OK(pipeline::check_finite("cfg_truncation", r.cfg_truncation));
  if (r.image) return fail(ErrorCode::Usage, "ZImagePipeline takes no input image", "leave the image out");
  return {};
}

/// The caption's padded tokens, the first position and the picture's own one share an axis.
void check_caption(const at::Tensor& embeds, const ZImageConfig& config) {
  const auto status = check_position("the prompt", z_image_padded(embeds.size(0)) + 2, config.axes_lens[0]);
  if (!status) throw RuntimeFault(status.error());
}

/// The last state but one of the real tokens, [T, C].
at::Tensor encode_text(const char* tag, const std::string& words, int64_t max_length, const text::Tokenizer& tokenizer,
                       const QwenLm& encoder, const Context& context) {
  const PromptTokens tokens = tokenize_chat(tokenizer, kQwenChat, words, max_length, Padding::ToMaxLength);
  const std::string name = strings::join("tokens/text_encoder/", tag);
  context.record(name + "/input_ids", tokens.ids);
  context.record(name + "/attention_mask", mask_tensor(tokens));
  nn::Scope scope = pipeline::scope_of(context, "text_encoder", strings::join("text/text_encoder/", tag));
  const std::array<int64_t, 1> wanted = {-2};
  // The reference encodes the padding too and drops it. The real tokens do not see it, so it is run only to be looked
  // at: the picture must not depend on a trace.
  if (scope.trace != nullptr) encoder.forward(tokens.ids, std::vector<int64_t>{tokens.length}, wanted, scope);
  scope.trace = nullptr;
  return encoder.forward(tokens.ids.slice(1, 0, tokens.length), std::nullopt, wanted, scope).front().select(0, 0);
}

}  // namespace

Result<std::unique_ptr<pipeline::Pipeline>> ZImagePipeline::open(const weights::PipelineFolder& folder) {
  TESSERA_TRY_OK(expect_classes(folder, {{"transformer", "ZImageTransformer2DModel"}, {"vae", "AutoencoderKL"}}));
  ZImageConfigs configs;
  TESSERA_TRY(const Json text, folder.config("text_encoder"));
  TESSERA_TRY(configs.text_encoder, parse_qwen_lm_config(text));
  TESSERA_TRY(const Json transformer, folder.config("transformer"));
  TESSERA_TRY(configs.transformer, parse_z_image_config(transformer));
  TESSERA_TRY(const Json vae, folder.config("vae"));
  TESSERA_TRY(configs.vae, parse_kl_config(vae));
  TESSERA_TRY(configs.scheduler, folder.config("scheduler", "scheduler_config.json"));
  TESSERA_TRY_OK(schedulers::parse_flow_match_config(configs.scheduler));
  TESSERA_TRY_OK(check_configs(configs));
  return std::make_unique<ZImagePipeline>(folder, std::move(configs));
}

Result<GenerateRequest> ZImagePipeline::complete(const GenerateRequest& request) const {
  GenerateRequest defaults;
  defaults.height = defaults.width = kDefaultSide;
  defaults.num_inference_steps = 50;
  defaults.guidance_scale = 5.0;
  defaults.cfg_normalization = false;
  defaults.cfg_truncation = 1.0;
  defaults.max_sequence_length = kDefaultSequenceLength;
  defaults.num_frames = 1;
  TESSERA_TRY(GenerateRequest full, pipeline::fill_defaults(request, defaults, folder_.path));
  TESSERA_TRY_OK(check_request(full, configs_));
  return full;
}

std::vector<pipeline::AttentionSite> ZImagePipeline::attention_sites(const GenerateRequest& request) const {
  const int64_t side = token_side(configs_.vae);
  const int64_t rows = *request.height / side;
  const int64_t columns = *request.width / side;
  std::vector<pipeline::AttentionSite> sites = {
      qwen_lm_attention_site(configs_.text_encoder, "text_encoder", *request.max_sequence_length)};
  for (auto& site : z_image_attention_sites(configs_.transformer, *request.max_sequence_length, rows * columns)) {
    site.problem.batch = *request.guidance_scale > 0 ? 2 : 1;
    sites.push_back(std::move(site));
  }
  for (auto& site : kl_attention_sites(configs_.vae, kZImagePatch * rows, kZImagePatch * columns)) {
    sites.push_back(std::move(site));
  }
  return sites;
}

ZImagePipeline::Encoded ZImagePipeline::encode(const GenerateRequest& request, Context& context) const {
  const pipeline::Stage stage("encode", context, &pipeline::Timings::encode);
  const auto tokenizer = unwrap(text::load_tokenizer(folder_.folder("tokenizer")));
  const auto encoder = pipeline::load_component<QwenLm>(folder_, "text_encoder", configs_.text_encoder,
                                                        {.dtype = context.dtype, .unused = qwen_lm_unused()}, context);
  const auto embed = [&](const char* tag, const std::string& words) {
    const at::Tensor out = encode_text(tag, words, *request.max_sequence_length, *tokenizer, encoder, context);
    check_caption(out, configs_.transformer);
    return out;
  };
  Encoded out{embed("prompt", request.prompt), std::nullopt};
  context.record("prompt_embeds", out.prompt);
  if (*request.guidance_scale <= 0) return out;
  context.check_cancelled();
  out.negative = embed("negative", request.negative_prompt.value_or(""));
  context.record("negative_prompt_embeds", *out.negative);
  return out;
}

at::Tensor ZImagePipeline::denoise(const GenerateRequest& request, const Encoded& text, Context& context) const {
  const int64_t factor = configs_.vae.spatial_factor();
  const int64_t height = *request.height / factor;
  const int64_t width = *request.width / factor;
  at::Generator generator = tensor::cpu_generator(request.seed);
  const at::Tensor latents =
      tensor::randn({1, configs_.transformer.in_channels, height, width}, generator).to(context.device);
  context.record("latents/initial", latents);

  const auto config = unwrap(schedulers::parse_flow_match_config(configs_.scheduler));
  const schedulers::ScheduleRequest wanted{
      .num_steps = *request.num_inference_steps,
      .sigmas = schedulers::even_sigmas(*request.num_inference_steps),
      .mu = schedulers::dynamic_shift(config, (height / kZImagePatch) * (width / kZImagePatch)),
      .generator = generator};
  const auto scheduler = unwrap(schedulers::make_scheduler(configs_.scheduler, wanted));
  const auto transformer = pipeline::load_component<ZImageTransformer>(
      folder_, "transformer", configs_.transformer, {.dtype = context.dtype, .unused = {"siglip_"}}, context);

  const auto predict = [&](const at::Tensor& x, int64_t step) {
    // The model's time runs from 0 (noise) to 1 (picture), and it predicts the way from picture to noise.
    const at::Tensor time = (kTrainTimesteps - scheduler->timesteps().slice(0, step, step + 1)) / kTrainTimesteps;
    const double scale = text.negative ? z_image_guidance_scale(request, time.item<double>()) : 0;
    const size_t rows = scale > 0 ? 2 : 1;
    ZImageInputs inputs{.x = std::vector<at::Tensor>(rows, x.to(context.dtype).select(0, 0).unsqueeze(1)),
                        .t = time.to(context.device).repeat({static_cast<int64_t>(rows)}),
                        .cap_feats = {text.prompt}};
    if (scale > 0) inputs.cap_feats.push_back(*text.negative);
    const auto scope = pipeline::scope_of(
        context, "transformer", context.trace == nullptr ? std::string() : strings::join("step", step, "/batch"));
    const std::vector<at::Tensor> out = transformer.forward(inputs, scope);
    const at::Tensor cond = out[0].to(at::kFloat);
    const at::Tensor guided =
        scale > 0 ? z_image_guidance(cond, out[1].to(at::kFloat), scale, *request.cfg_normalization) : cond;
    return -guided.squeeze(1).unsqueeze(0);  // [1, C, h, w]
  };
  const auto preview = [&](const at::Tensor& x) {
    Context quiet = {.engine = context.engine, .device = context.device, .dtype = context.dtype};
    return pipeline::to_frames(decode(x, request, quiet));
  };
  return pipeline::denoise(latents, {*scheduler, predict, preview}, context);
}

at::Tensor ZImagePipeline::decode(const at::Tensor& latents, const GenerateRequest& request, Context& context) const {
  return decode_kl_latents(folder_, configs_.vae, latents, request, context);
}

pipeline::Media ZImagePipeline::generate(const GenerateRequest& request, Context& context) {
  TESSERA_CHECK(request.height && request.width && request.num_inference_steps && request.guidance_scale &&
                    request.cfg_normalization && request.cfg_truncation && request.max_sequence_length,
                "generate takes completed requests");
  const c10::InferenceMode inference;
  const Encoded text = encode(request, context);
  const at::Tensor latents = denoise(request, text, context);
  const at::Tensor frames = pipeline::to_frames(decode(latents, request, context));
  context.record("image", frames[0]);
  return {.frames = frames, .fps = 0};
}

}  // namespace tessera::models
