#include "models/wan/image_condition.h"

#include "base/log.h"
#include "base/strings.h"
#include "models/vae/wan.h"
#include "pipeline/resize.h"
#include "pipeline/stage.h"

namespace tessera::models {
namespace {

constexpr double kAspectTolerance = 0.01;

void warn_of_distortion(const at::Tensor& image, int64_t height, int64_t width) {
  const double given = static_cast<double>(image.size(1)) / static_cast<double>(image.size(0));
  const double wanted = static_cast<double>(width) / static_cast<double>(height);
  if (std::abs(given / wanted - 1) <= kAspectTolerance) return;
  log::warning(strings::join("the input image of ", image.size(1), " x ", image.size(0), " pixels is stretched to ",
                             width, " x ", height, "; crop it, or ask for a size of its proportions"));
}

/// The frames that the encoder sees: the image alone, or the image and black ones up to the length of the video.
at::Tensor encoder_input(const at::Tensor& frame, int64_t num_frames, bool alone) {
  if (alone) return frame;
  at::Tensor video = at::zeros({1, 3, num_frames, frame.size(3), frame.size(4)}, frame.options());
  video.slice(2, 0, 1).copy_(frame);
  return video;
}

/// Which of the four frames behind every latent frame are given: [1, t, f, h, w].
at::Tensor known_frames(const WanSize& z, int64_t temporal, const at::TensorOptions& options) {
  at::Tensor known = at::zeros({1, temporal, z.frames, z.height, z.width}, options);
  known.slice(2, 0, 1).fill_(1);
  return known;
}

}  // namespace

at::Tensor WanCondition::model_input(const at::Tensor& present) const {
  if (open.defined()) return restored(present);
  return at::cat({present, latents}, 1);
}

at::Tensor WanCondition::restored(const at::Tensor& present) const {
  if (!open.defined()) return present;
  return (1 - open) * latents + open * present;
}

at::Tensor wan_input_frame(const at::Tensor& image, int64_t height, int64_t width) {
  warn_of_distortion(image, height, width);
  const at::Tensor fitted = pipeline::resize_lanczos(image, height, width);  // [H, W, 3] uint8
  const at::Tensor unit = fitted.to(at::kFloat) / 255;
  return (unit * 2 - 1).permute({2, 0, 1}).unsqueeze(0).unsqueeze(2).contiguous();
}

WanCondition encode_wan_condition(const pipeline::GenerateRequest& request, const WanConfigs& configs,
                                  const weights::PipelineFolder& folder, pipeline::Context& context) {
  const WanVaeConfig& vae = configs.vae;
  const auto encoder = pipeline::load_component<WanEncoder>(
      folder, "vae", vae, {.dtype = context.dtype, .unused = {"decoder.", "post_quant_conv."}}, context);
  const at::Tensor frame = wan_input_frame(*request.image, *request.height, *request.width).to(context.device);
  const at::Tensor video = encoder_input(frame, *request.num_frames, configs.expand_timesteps).to(context.dtype);
  context.record("vae/encode/in", video);
  const at::Tensor mode = encoder.encode(video, pipeline::scope_of(context, "vae", "vae/encoder"));
  context.record("vae/encode/mode", mode);
  WanCondition out{.latents = wan_scale_latents(mode.to(at::kFloat), vae), .open = {}};
  const WanSize z = wan_latent_size(request, configs);
  if (configs.expand_timesteps) {
    out.open = at::ones({1, 1, z.frames, z.height, z.width}, out.latents.options());
    out.open.slice(2, 0, 1).zero_();
    context.record("latents/first_frame_mask", out.open);
  } else {
    out.latents = at::cat({known_frames(z, vae.scale_factor_temporal, out.latents.options()), out.latents}, 1);
  }
  context.record("latents/condition", out.latents);
  return out;
}

}  // namespace tessera::models
