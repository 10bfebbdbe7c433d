#include "apps/cli/generate_flags.h"

#include <charconv>
#include <random>

#include "base/strings.h"
#include "media/metadata.h"
#include "media/png.h"
#include "pipeline/request_json.h"

namespace tessera::cli {
namespace {

using pipeline::GenerateRequest;

void add_sizes(CLI::App& c, GenerateRequest& r) {
  c.add_option("--height", r.height, "pixels");
  c.add_option("--width", r.width, "pixels");
  c.add_option("--num-frames", r.num_frames, "frames of a video");
  c.add_option("--fps", r.fps, "frames per second of a video");
  c.add_option("--num-inference-steps,--steps", r.num_inference_steps, "denoise steps");
  c.add_option("--max-sequence-length", r.max_sequence_length, "text tokens that count");
}

void add_guidance(CLI::App& c, GenerateFlags& f) {
  c.add_option("--guidance-scale", f.request.guidance_scale, "how strongly the prompt counts");
  c.add_option("--guidance-scale-2", f.request.guidance_scale_2, "the same for the second transformer");
  c.add_option("--true-cfg-scale", f.request.true_cfg_scale, "guidance by a second, negative pass; 1: off");
  c.add_option("--cfg-normalization", f.cfg_normalization, "true or false (Z-Image)");
  c.add_option("--cfg-truncation", f.request.cfg_truncation, "share of the schedule that is guided (Z-Image)");
}

void add_texts(CLI::App& c, GenerateFlags& f) {
  c.add_option("--model", f.model, "a folder in diffusers' layout, or demo");
  c.add_option("--prompt", f.prompt, "what to show");
  c.add_option("--prompt-2", f.request.prompt_2, "another text for the second text encoder");
  c.add_option("--negative-prompt", f.request.negative_prompt, "what not to show");
  c.add_option("--image", f.image, "a PNG file to start from (image to video)");
  c.add_option("--recipe", f.recipe, "repeat this picture (a PNG that tessera made)");
  c.add_option("--seed", f.seed, "0 … 2^64-1; random when absent");
}

void add_output(CLI::App& c, GenerateFlags& f) {
  c.add_option("--out", f.out, "a .png or .mp4 file, or a folder ending in /")->required();
  c.add_option("--num-images", f.num_images, "pictures; picture i has seed + i")->check(CLI::Range(1, 100000));
  c.add_flag("--no-metadata", f.no_metadata, "keep the prompt and the recipe out of the file");
  c.add_option("--preview", f.preview, "save the intermediate picture every N steps")->check(CLI::NonNegativeNumber);
  c.add_option("--preview-dir", f.preview_dir, "folder of the previews");
}

void add_decoding(CLI::App& c, GenerateRequest& r) {
  c.add_flag("--vae-tiling", r.vae_tiling, "decode in tiles: less memory");
  c.add_flag("--vae-slicing", r.vae_slicing, "decode pictures one by one");
}

Result<bool> parse_bool(const std::string& flag, const std::string& text) {
  const std::string t = strings::lower(text);
  if (t == "true" || t == "1" || t == "yes" || t == "on") return true;
  if (t == "false" || t == "0" || t == "no" || t == "off") return false;
  return fail(ErrorCode::Usage, strings::join(flag, " ", text, " is neither true nor false"));
}

uint64_t random_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

Result<runtime::Recipe> from_picture(const std::string& file) {
  if (file.empty()) return runtime::Recipe{};
  TESSERA_TRY(const Json json, media::read_recipe(file));
  return runtime::parse_recipe(json, file);
}

/// Shared flags that were really given win over the recipe's.
void lay_over(const SharedOptions& shared, const CLI::App& command, runtime::RuntimeOptions& options) {
  const auto given = [&](const char* flag) { return command.count(flag) > 0; };
  if (given("--device")) options.device = shared.device;
  if (given("--dtype")) options.dtype = shared.dtype;
  if (given("--quality")) options.quality = shared.quality;
  if (given("--threads")) options.threads = shared.threads;
  if (given("--attention-backend")) {
    options.attention_backend = shared.attention_backend;
    options.attention_backend_origin = shared.attention_backend_origin;
  }
  if (given("--component-attention-backends")) {
    options.component_attention_backends = shared.component_attention_backends;
    options.component_attention_backends_origin = shared.component_attention_backends_origin;
  }
}

}  // namespace

void add_request_flags(CLI::App& command, GenerateFlags& flags) {
  add_texts(command, flags);
  add_sizes(command, flags.request);
  add_guidance(command, flags);
  add_decoding(command, flags.request);
}

void add_generate_flags(CLI::App& command, GenerateFlags& flags) {
  add_request_flags(command, flags);
  add_output(command, flags);
  command
      .add_option("--attention-canary", flags.attention_canary, "off, first or always: check kernels on sampled rows")
      ->check(CLI::IsMember({"off", "first", "always"}));
  command.add_option("--inject", flags.inject, "BACKEND:FAULT@CALL, with TESSERA_ALLOW_INJECT=1");
}

Result<uint64_t> parse_seed(const std::string& text) {
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, seed);
  if (code == std::errc() && rest == end && !text.empty()) return seed;
  return fail(ErrorCode::Usage, strings::join("--seed ", text, " is not a number from 0 to 18446744073709551615"));
}

Result<runtime::Recipe> requested(const GenerateFlags& flags, const SharedOptions& shared, const CLI::App& command) {
  TESSERA_TRY(runtime::Recipe recipe, from_picture(flags.recipe));
  GenerateRequest given = flags.request;
  given.vae_tiling |= recipe.request.vae_tiling;
  given.vae_slicing |= recipe.request.vae_slicing;
  if (flags.cfg_normalization) {
    TESSERA_TRY(given.cfg_normalization, parse_bool("--cfg-normalization", *flags.cfg_normalization));
  }
  given.prompt = flags.prompt.value_or(recipe.request.prompt);
  given.seed = flags.recipe.empty() ? random_seed() : recipe.request.seed;
  if (flags.seed) {
    TESSERA_TRY(given.seed, parse_seed(*flags.seed));
  }
  if (!flags.prompt && flags.recipe.empty()) {
    return fail(ErrorCode::Usage, "--prompt is missing", "say what to show, or name a picture with --recipe");
  }
  recipe.request = pipeline::with_defaults(given, recipe.request);
  if (flags.model) recipe.options.model = *flags.model;
  if (!flags.model && flags.recipe.empty())
    return fail(ErrorCode::Usage, "--model is missing", "name a folder, or demo");
  lay_over(shared, command, recipe.options);
  recipe.options.attention_canary = flags.attention_canary;
  recipe.options.inject = flags.inject;
  return recipe;
}

Status read_image(const std::string& file, GenerateRequest& request) {
  if (file.empty()) return {};
  TESSERA_TRY(const media::Png png, media::read_png(file));
  at::Tensor image = at::empty({png.image.height, png.image.width, 3}, at::kByte);
  std::copy(png.image.rgb.begin(), png.image.rgb.end(), image.data_ptr<uint8_t>());
  request.image = std::move(image);
  return {};
}

}  // namespace tessera::cli
