#include "pipeline/request_json.h"

#include "base/strings.h"

namespace tessera::pipeline {
namespace {

/// Calls visit(name, member) for each field: the one list of names. Works on const and non-const requests.
template <typename Request, typename Visit>
void for_each_field(Request& r, Visit&& visit) {
  visit("prompt", r.prompt);
  visit("prompt_2", r.prompt_2);
  visit("negative_prompt", r.negative_prompt);
  visit("height", r.height);
  visit("width", r.width);
  visit("num_frames", r.num_frames);
  visit("fps", r.fps);
  visit("num_inference_steps", r.num_inference_steps);
  visit("max_sequence_length", r.max_sequence_length);
  visit("guidance_scale", r.guidance_scale);
  visit("guidance_scale_2", r.guidance_scale_2);
  visit("true_cfg_scale", r.true_cfg_scale);
  visit("cfg_normalization", r.cfg_normalization);
  visit("cfg_truncation", r.cfg_truncation);
  visit("seed", r.seed);
  visit("vae_tiling", r.vae_tiling);
  visit("vae_slicing", r.vae_slicing);
}

template <typename T>
struct Writer {
  static void write(Json& out, const char* name, const T& value) { out[name] = value; }
};
template <typename T>
struct Writer<std::optional<T>> {
  static void write(Json& out, const char* name, const std::optional<T>& value) {
    if (value) out[name] = *value;
  }
};

template <typename T>
T take(const Json& value, const T&) {
  return value.get<T>();
}
template <typename T>
std::optional<T> take(const Json& value, const std::optional<T>&) {
  return value.get<T>();
}

template <typename T>
void fill(std::optional<T>& field, const std::optional<T>& other) {
  if (!field) field = other;
}

}  // namespace

Json to_json(const GenerateRequest& request) {
  Json out = Json::object();
  for_each_field(request, [&](const char* name, const auto& field) {
    Writer<std::decay_t<decltype(field)>>::write(out, name, field);
  });
  return out;
}

Status apply_json(const Json& fields, GenerateRequest& request) {
  Status status;
  for_each_field(request, [&](const char* name, auto& field) {
    const auto it = fields.find(name);
    if (it == fields.end() || it->is_null() || !status) return;
    try {
      field = take(*it, field);
    } catch (const Json::exception&) {
      status = fail(ErrorCode::BadFile,
                    strings::join("field '", name, "' has the wrong type (", it->dump().substr(0, 60), ")"));
    }
  });
  return status;
}

GenerateRequest with_defaults(GenerateRequest request, const GenerateRequest& defaults) {
  fill(request.prompt_2, defaults.prompt_2);
  fill(request.negative_prompt, defaults.negative_prompt);
  fill(request.height, defaults.height);
  fill(request.width, defaults.width);
  fill(request.num_frames, defaults.num_frames);
  fill(request.fps, defaults.fps);
  fill(request.num_inference_steps, defaults.num_inference_steps);
  fill(request.max_sequence_length, defaults.max_sequence_length);
  fill(request.guidance_scale, defaults.guidance_scale);
  fill(request.guidance_scale_2, defaults.guidance_scale_2);
  fill(request.true_cfg_scale, defaults.true_cfg_scale);
  fill(request.cfg_normalization, defaults.cfg_normalization);
  fill(request.cfg_truncation, defaults.cfg_truncation);
  return request;
}

}  // namespace tessera::pipeline
