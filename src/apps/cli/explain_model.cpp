#include "tensor/aten.h"

#include "apps/cli/explain_model.h"

#include "base/strings.h"
#include "models/catalog.h"
#include "runtime/attention_options.h"
#include "runtime/attention_plan.h"
#include "runtime/model_folder.h"

namespace tessera::cli {

Result<std::vector<ExplainSite>> model_sites(const ModelSize& size, DType dtype,
                                             attention::SelectionTable& selections) {
  TESSERA_TRY(const auto folder, runtime::find_model(size.model));
  TESSERA_TRY(const auto pipeline, models::open_pipeline(folder));
  TESSERA_TRY_OK(runtime::add_weight_formats(folder, selections));
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
    const std::string name = strings::join(site.component, " ", site.site);
    sites.push_back(
        {name, site.component, std::move(site.problem), site.count, site.stage, site.pin, site.layer_default});
  }
  return sites;
}

Status check_model_overrides(const std::vector<ExplainSite>& sites, const ExplainContext& context) {
  std::vector<pipeline::AttentionSite> of_model;
  for (const ExplainSite& s : sites) {
    of_model.push_back({s.component, s.name, s.problem, s.calls_per_step, s.stage, s.pin, s.layer_default});
  }
  const DType dtype = sites.empty() ? DType::F32 : sites.front().problem.dtype;
  const auto plan =
      runtime::plan_attention(of_model, {.selections = context.selections, .device = context.device, .dtype = dtype});
  TESSERA_TRY_OK(runtime::check_keys(plan, context.selections));
  for (const auto& row : plan.sites) {
    if (row.decision.error) return {};  // the explanation of that site says it
  }
  return plan.overrides;
}

}  // namespace tessera::cli
