// The C++ interface of an installed Tessera: open a model, make a picture. Needs no other header of ours, nor torch's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#if defined(__GNUC__)
#define TESSERA_API __attribute__((visibility("default")))
#else
#define TESSERA_API
#endif

namespace tessera::api {

/// What failed. `code` as in the program's JSON ("bad_file", "out_of_memory", …); `message` is one line with a hint.
struct Failure {
  std::string code;
  std::string message;
};

/// How a model is run; the spellings of the program's flags.
struct Options {
  std::string model = "demo";
  std::string device = "auto";
  std::string dtype = "auto";
  std::string quality = "exact";
  int threads = 0;
  std::string attention_backend;
  std::string component_attention_backends;
};

/// One request; absent fields take the model's own defaults.
struct Request {
  std::string prompt;
  std::optional<std::string> negative_prompt;
  std::optional<int64_t> height;
  std::optional<int64_t> width;
  std::optional<int64_t> num_frames;
  std::optional<int64_t> num_inference_steps;
  std::optional<double> guidance_scale;
  std::optional<double> true_cfg_scale;
  uint64_t seed = 0;
};

/// A picture (frames = 1) or a video.
struct Picture {
  int64_t frames = 0;
  int64_t height = 0;
  int64_t width = 0;
  double fps = 0;
  std::vector<uint8_t> rgb;  ///< [frames, height, width, 3]
};

/// A model that is ready for requests; one request at a time.
class TESSERA_API Model {
 public:
  /// An opened model, or nothing with `failure` filled in.
  static std::unique_ptr<Model> open(const Options& options, Failure& failure);
  virtual ~Model() = default;

  /// Runs one request. `on_step(done, total)` after each denoise step; returning false stops the run.
  virtual std::optional<Picture> generate(const Request& request, Failure& failure,
                                          const std::function<bool(int64_t done, int64_t total)>& on_step = {}) = 0;

  /// Which attention backend each site used, and why: a JSON array.
  virtual std::string attention_report() const = 0;
};

/// Writes a picture's first frame as PNG, all or nothing. False with `failure` filled in when that fails.
TESSERA_API bool write_png(const Picture& picture, const std::string& path, Failure& failure);

}  // namespace tessera::api
