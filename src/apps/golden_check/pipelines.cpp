#include "tensor/aten.h"

#include "apps/golden_check/pipelines.h"

#include <set>

#include "apps/golden_check/compare_tensors.h"
#include "base/log.h"
#include "base/strings.h"
#include "media/png.h"
#include "pipeline/request_json.h"
#include "runtime/generator.h"
#include "weights/checkpoint.h"
#include "weights/tensors.h"

namespace tessera::golden {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

/// Keeps the tensors whose names are wanted; a further use of a name is kept as "name#1", "name#2", …
class KeepingTrace final : public tensor::Trace {
 public:
  explicit KeepingTrace(std::set<std::string> wanted) : wanted_(std::move(wanted)) {}

  void record(const std::string& name, const at::Tensor& value) override {
    const int64_t use = uses_[name]++;
    const std::string full = use == 0 ? name : strings::join(name, "#", use);
    if (wanted_.contains(full)) kept_[full] = value.detach().cpu().clone();
  }

  const at::Tensor* find(const std::string& name) const {
    const auto it = kept_.find(name);
    return it == kept_.end() ? nullptr : &it->second;
  }

 private:
  std::set<std::string> wanted_;
  std::map<std::string, int64_t> uses_;
  Tensors kept_;
};

Result<Tensors> read_expected(const std::filesystem::path& file) {
  TESSERA_TRY(const weights::Checkpoint checkpoint, weights::open_file(file));
  Tensors out;
  for (const auto& [name, stored] : checkpoint.tensors) {
    TESSERA_TRY(out[name], weights::map_tensor(stored, name));
  }
  return out;
}

Result<at::Tensor> read_image(const std::filesystem::path& file) {
  TESSERA_TRY(const media::Png png, media::read_png(file));
  at::Tensor image = at::empty({png.image.height, png.image.width, 3}, at::kByte);
  std::copy(png.image.rgb.begin(), png.image.rgb.end(), image.mutable_data_ptr<uint8_t>());
  return image;
}

Result<pipeline::GenerateRequest> read_request(const std::filesystem::path& case_folder) {
  TESSERA_TRY(const Json description, json::read_file(case_folder / "case.json"));
  if (!description.contains("request")) return fail(ErrorCode::BadFile, "case.json has no request");
  pipeline::GenerateRequest request;
  TESSERA_TRY_OK(pipeline::apply_json(description.at("request"), request));
  TESSERA_TRY(const std::string image, json::value_or<std::string>(description.at("request"), "image", ""));
  if (!image.empty()) {
    TESSERA_TRY(request.image, read_image(case_folder / image));
  }
  return request;
}

/// The whole request as a user runs it: fp32 on the CPU, through the attention engine.
Status run(const std::filesystem::path& case_folder, tensor::Trace& trace) {
  TESSERA_TRY(const auto request, read_request(case_folder));
  const runtime::RuntimeOptions options{
      .model = (case_folder / "model").string(), .device = "cpu", .dtype = "fp32", .attention_backend = {}};
  TESSERA_TRY(auto generator, runtime::Generator::open(options));
  TESSERA_TRY(const auto completed, generator.complete(request));
  TESSERA_TRY(const auto made, generator.run(completed, {.trace = &trace}));
  return {};
}

}  // namespace

bool is_pipeline(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / "case.json", ignored) &&
         std::filesystem::exists(folder / "expected.safetensors", ignored);
}

GoldenReport check_pipeline(const std::filesystem::path& case_folder) {
  GoldenReport report{.path = case_folder, .kind = "pipeline"};
  const auto expected = read_expected(case_folder / "expected.safetensors");
  if (!expected) {
    report.count(false, "expected.safetensors", "read", expected.error().line(), "a readable file");
    return report;
  }
  std::set<std::string> names;
  for (const auto& [name, value] : *expected) names.insert(name);
  KeepingTrace trace(std::move(names));
  if (const auto status = run(case_folder, trace); !status) {
    report.failed.push_back({"run", "the whole request", status.error().line(), "a finished run"});
  }
  for (const auto& [name, want] : *expected) {
    const at::Tensor* got = trace.find(name);
    const TensorVerdict verdict =
        got == nullptr ? TensorVerdict{false, "not recorded", "a tensor of this name"} : compare_tensors(*got, want);
    report.count(verdict.ok, name, "tensor", verdict.got, verdict.want);
    log::debug(strings::join(name, ": ", verdict.got));
  }
  return report;
}

}  // namespace tessera::golden
