#include "tensor/aten.h"

#include "apps/cli/explain_model.h"

#include "base/strings.h"
#include "models/catalog.h"
#include "runtime/model_folder.h"

namespace tessera::cli {

Result<std::vector<ExplainSite>> model_sites(const ModelSize& size, DType dtype) {
  TESSERA_TRY(const auto folder, runtime::find_model(size.model));
  TESSERA_TRY(const auto pipeline, models::open_pipeline(folder));
  pipeline::GenerateRequest request;
  request.prompt = "any";
  request.height = size.height;
  request.width = size.width;
  request.num_frames = size.num_frames;
  request.max_sequence_length = size.max_sequence_length;
  TESSERA_TRY(const auto completed, pipeline->complete(request));
  std::vector<ExplainSite> sites;
  for (pipeline::AttentionSite& site : pipeline->attention_sites(completed)) {
    site.problem.dtype = dtype;
    const std::string name =
        strings::join(site.component, " ", site.site, " ", attention::role_name(site.problem.role));
    sites.push_back({name, site.component, std::move(site.problem), site.count});
  }
  return sites;
}

}  // namespace tessera::cli
