#include "models/catalog.h"

#include "base/strings.h"
#include "models/flux/pipeline.h"
#include "models/qwen_image/pipeline.h"
#include "models/wan/pipeline.h"
#include "models/z_image/pipeline.h"

namespace tessera::models {
namespace {

using Open = Result<std::unique_ptr<pipeline::Pipeline>> (*)(const weights::PipelineFolder&);

// A new model is one row here and a folder of its own.
constexpr std::pair<std::string_view, Open> kRows[] = {
    {"FluxPipeline", FluxPipeline::open},           {"QwenImagePipeline", QwenImagePipeline::open},
    {"WanImageToVideoPipeline", WanPipeline::open}, {"WanPipeline", WanPipeline::open},
    {"ZImagePipeline", ZImagePipeline::open},
};

}  // namespace

Result<std::unique_ptr<pipeline::Pipeline>> open_pipeline(const std::filesystem::path& path) {
  TESSERA_TRY(const weights::PipelineFolder folder, weights::open_pipeline_folder(path));
  for (const auto& [name, open] : kRows) {
    if (name == folder.class_name) return open(folder);
  }
  return fail(ErrorCode::Unsupported,
              strings::join(path.string(), ": pipeline class '", folder.class_name, "' is not known"),
              "known are " + strings::list(known_pipelines()));
}

std::vector<std::string> known_pipelines() {
  std::vector<std::string> names;
  for (const auto& [name, open] : kRows) names.emplace_back(name);
  return names;
}

}  // namespace tessera::models
