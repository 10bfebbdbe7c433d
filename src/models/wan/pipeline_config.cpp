#include "models/wan/pipeline_config.h"

#include <numeric>

#include "base/strings.h"
#include "models/component_class.h"
#include "pipeline/completion.h"

namespace tessera::models {
namespace {

using pipeline::GenerateRequest;

constexpr double kDefaultFps = 16;  // of diffusers' examples and of the models' own frames

Status disagree(const char* what, int64_t a, int64_t b) {
  return fail(ErrorCode::BadFile, strings::join("the model's configs disagree about ", what, ": ", a, " and ", b));
}

/// What a transformer must share with the text encoder and the autoencoder.
Status check_transformer(const WanConfigs& c, const WanConfig& t) {
  if (t.text_dim != c.text.d_model) return disagree("the size of the text embeddings", t.text_dim, c.text.d_model);
  if (t.out_channels != c.vae.z_dim) return disagree("the latent channels", t.out_channels, c.vae.z_dim);
  // Without per-token timesteps the given frame stands beside the latents, with a mask of the frames it covers.
  const bool beside = c.image_to_video && !c.expand_timesteps;
  const int64_t in = beside ? 2 * c.vae.z_dim + c.vae.scale_factor_temporal : c.vae.z_dim;
  if (t.in_channels != in) return disagree("the input channels", t.in_channels, in);
  return {};
}

Status check_configs(const WanConfigs& c) {
  TESSERA_TRY_OK(check_transformer(c, c.transformer));
  if (c.transformer_2) {
    TESSERA_TRY_OK(check_transformer(c, *c.transformer_2));
    if (c.transformer_2->patch_size != c.transformer.patch_size) {
      return disagree("the patches of the two transformers", c.transformer.patch_volume(),
                      c.transformer_2->patch_volume());
    }
  }
  const int64_t colours = c.vae.out_channels / (c.vae.patch_size * c.vae.patch_size);
  if (colours != 3) return disagree("the colour channels", colours, 3);
  return {};
}

Result<WanConfig> read_transformer(const weights::PipelineFolder& folder, const std::string& component) {
  TESSERA_TRY(const Json config, folder.config(component));
  return parse_wan_config(config);
}

/// The second expert, when the schedule is split.
Status read_second_expert(const weights::PipelineFolder& folder, WanConfigs& configs) {
  if (!configs.boundary_ratio) return {};
  if (!folder.has("transformer_2")) {
    return fail(ErrorCode::BadFile,
                strings::join(folder.path.string(), ": boundary_ratio ", *configs.boundary_ratio,
                              " asks for two transformers, and model_index.json lists no transformer_2"),
                "fetch the whole model again");
  }
  TESSERA_TRY_OK(expect_classes(folder, {{"transformer_2", "WanTransformer3DModel"}}));
  TESSERA_TRY(configs.transformer_2, read_transformer(folder, "transformer_2"));
  return {};
}

Status check_frames(int64_t frames, int64_t temporal) {
  if (frames >= 1 && frames % temporal == 1 % temporal) return {};
  const int64_t below = frames < 1 ? 1 : (frames - 1) / temporal * temporal + 1;
  const int64_t nearest = frames - below <= below + temporal - frames ? below : below + temporal;
  return fail(ErrorCode::Usage, strings::join("num_frames ", frames, " is not 1 more than a multiple of ", temporal),
              strings::join("the nearest valid value is ", std::max<int64_t>(nearest, 1)));
}

/// A patch's position has an entry in the rotary table of the checkpoint for so many frames, rows and columns.
Status check_extent(const GenerateRequest& request, const WanConfigs& c) {
  const WanSize z = wan_latent_size(request, c);
  const auto& p = c.transformer.patch_size;
  const int64_t most = c.transformer.rope_max_seq_len;
  const auto check = [&](const char* name, int64_t patches) -> Status {
    if (patches <= most) return {};
    return fail(ErrorCode::Usage,
                strings::join(name, " is too large: ", patches, " patches along it, the model knows ", most));
  };
  TESSERA_TRY_OK(check("num_frames", z.frames / p[0]));
  TESSERA_TRY_OK(check("height", z.height / p[1]));
  return check("width", z.width / p[2]);
}

GenerateRequest wan_defaults() {
  GenerateRequest defaults;
  defaults.negative_prompt = "";
  defaults.height = 480;
  defaults.width = 832;
  defaults.num_frames = 81;
  defaults.fps = kDefaultFps;
  defaults.num_inference_steps = 50;
  defaults.guidance_scale = 5.0;
  defaults.max_sequence_length = 512;
  return defaults;
}

Status check_numbers(const GenerateRequest& r) {
  TESSERA_TRY_OK(pipeline::check_range("num_inference_steps", *r.num_inference_steps, 1, 1000));
  TESSERA_TRY_OK(pipeline::check_range("max_sequence_length", *r.max_sequence_length, 1, 4096));
  TESSERA_TRY_OK(pipeline::check_finite("guidance_scale", r.guidance_scale));
  TESSERA_TRY_OK(pipeline::check_finite("guidance_scale_2", r.guidance_scale_2));
  if (*r.fps > 0 && std::isfinite(*r.fps)) return {};
  return fail(ErrorCode::Usage, strings::join("fps ", *r.fps, " is not a positive number"));
}

}  // namespace

Result<WanConfigs> read_wan_configs(const weights::PipelineFolder& folder) {
  TESSERA_TRY_OK(expect_classes(
      folder,
      {{"text_encoder", "UMT5EncoderModel"}, {"transformer", "WanTransformer3DModel"}, {"vae", "AutoencoderKLWan"}}));
  WanConfigs c;
  c.image_to_video = folder.class_name == "WanImageToVideoPipeline";
  TESSERA_TRY(const double boundary, json::value_or(folder.index, "boundary_ratio", std::nan("")));
  if (std::isfinite(boundary)) c.boundary_ratio = boundary;
  TESSERA_TRY(c.expand_timesteps, json::value_or(folder.index, "expand_timesteps", false));
  TESSERA_TRY(const Json text, folder.config("text_encoder"));
  TESSERA_TRY(c.text, parse_t5_config(text));
  TESSERA_TRY(c.transformer, read_transformer(folder, "transformer"));
  TESSERA_TRY_OK(read_second_expert(folder, c));
  TESSERA_TRY(const Json vae, folder.config("vae"));
  TESSERA_TRY(c.vae, parse_wan_vae_config(vae));
  TESSERA_TRY(c.scheduler, folder.config("scheduler", "scheduler_config.json"));
  TESSERA_TRY(c.num_train_timesteps, json::value_or(c.scheduler, "num_train_timesteps", c.num_train_timesteps));
  TESSERA_TRY_OK(check_configs(c));
  return c;
}

Result<GenerateRequest> complete_wan_request(const GenerateRequest& request, const WanConfigs& configs,
                                             const std::filesystem::path& model_folder) {
  TESSERA_TRY(GenerateRequest full, pipeline::fill_defaults(request, wan_defaults(), model_folder));
  const auto& patch = configs.transformer.patch_size;
  // 16 at least, as diffusers asks for.
  const auto multiple = [&](int64_t p) { return std::lcm(int64_t{16}, configs.vae.scale_factor_spatial * p); };
  TESSERA_TRY_OK(pipeline::check_multiple("height", *full.height, multiple(patch[1])));
  TESSERA_TRY_OK(pipeline::check_multiple("width", *full.width, multiple(patch[2])));
  TESSERA_TRY_OK(check_frames(*full.num_frames, configs.vae.scale_factor_temporal));
  TESSERA_TRY_OK(check_extent(full, configs));
  TESSERA_TRY_OK(check_numbers(full));
  if (!configs.boundary_ratio && full.guidance_scale_2) {
    return fail(ErrorCode::Usage, "guidance_scale_2 is for models with two transformers, and this one has one",
                "leave it out");
  }
  if (configs.boundary_ratio && !full.guidance_scale_2) full.guidance_scale_2 = full.guidance_scale;
  if (full.image && !configs.image_to_video) {
    return fail(ErrorCode::Usage, "WanPipeline takes no input image", "leave the image out");
  }
  return full;
}

WanSize wan_latent_size(const GenerateRequest& request, const WanConfigs& configs) {
  const WanVaeConfig& vae = configs.vae;
  return {.frames = (*request.num_frames - 1) / vae.scale_factor_temporal + 1,
          .height = *request.height / vae.scale_factor_spatial,
          .width = *request.width / vae.scale_factor_spatial};
}

int64_t wan_tokens(const WanSize& z, const WanConfig& config) {
  const auto& p = config.patch_size;
  return (z.frames / p[0]) * (z.height / p[1]) * (z.width / p[2]);
}

}  // namespace tessera::models
