#include "tensor/aten.h"

#include <cstring>

#include "api/tessera.h"
#include "media/png.h"
#include "runtime/faults.h"
#include "runtime/generator.h"

namespace tessera::api {
namespace {

Failure failure_of(const Error& error) {
  return {std::string(code_name(error.code)), error.line()};
}

pipeline::GenerateRequest to_internal(const Request& r) {
  pipeline::GenerateRequest out;
  out.prompt = r.prompt;
  out.negative_prompt = r.negative_prompt;
  out.height = r.height;
  out.width = r.width;
  out.num_frames = r.num_frames;
  out.num_inference_steps = r.num_inference_steps;
  out.guidance_scale = r.guidance_scale;
  out.true_cfg_scale = r.true_cfg_scale;
  out.seed = r.seed;
  return out;
}

Picture to_picture(const pipeline::Media& media) {
  const at::Tensor frames = media.frames.contiguous();  // [F, H, W, 3]
  Picture picture{.frames = frames.size(0), .height = frames.size(1), .width = frames.size(2), .fps = media.fps};
  picture.rgb.resize(static_cast<size_t>(frames.numel()));
  std::memcpy(picture.rgb.data(), frames.const_data_ptr<uint8_t>(), picture.rgb.size());
  return picture;
}

/// Passes denoise steps on, and the caller's wish to stop.
class StepCallback : public pipeline::Progress {
 public:
  explicit StepCallback(const std::function<bool(int64_t, int64_t)>& on_step) : on_step_(on_step) {}
  void begin(std::string_view, int64_t total) override { total_ = total; }
  void advance(std::string_view stage, int64_t done) override {
    if (stage == "denoise" && on_step_ && !on_step_(done, total_)) stopped = true;
  }
  std::atomic<bool> stopped{false};

 private:
  const std::function<bool(int64_t, int64_t)>& on_step_;
  int64_t total_ = 0;
};

class OpenModel : public Model {
 public:
  explicit OpenModel(runtime::Generator generator) : generator_(std::move(generator)) {}

  std::optional<Picture> generate(const Request& request, Failure& failure,
                                  const std::function<bool(int64_t, int64_t)>& on_step) override {
    StepCallback steps(on_step);
    const auto made = run(to_internal(request), steps);
    if (made) return to_picture(made->media);
    failure = failure_of(made.error());
    return std::nullopt;
  }

  std::string attention_report() const override { return generator_.attention_report().dump(); }

 private:
  Result<runtime::Generated> run(const pipeline::GenerateRequest& asked, StepCallback& steps) {
    TESSERA_TRY(const auto request, generator_.complete(asked));
    return generator_.run(request, {.progress = &steps, .cancelled = &steps.stopped});
  }

  runtime::Generator generator_;
};

}  // namespace

std::unique_ptr<Model> Model::open(const Options& o, Failure& failure) {
  auto generator = runtime::Generator::open({.model = o.model,
                                             .device = o.device,
                                             .dtype = o.dtype,
                                             .quality = o.quality,
                                             .threads = o.threads,
                                             .attention_backend = o.attention_backend,
                                             .component_attention_backends = o.component_attention_backends});
  if (generator) return std::make_unique<OpenModel>(*std::move(generator));
  failure = failure_of(generator.error());
  return nullptr;
}

bool write_png(const Picture& p, const std::string& path, Failure& failure) {
  const Status written = media::write_png(path, {.rgb = p.rgb.data(), .width = p.width, .height = p.height}, {});
  if (!written) failure = failure_of(written.error());
  return written.has_value();
}

}  // namespace tessera::api
