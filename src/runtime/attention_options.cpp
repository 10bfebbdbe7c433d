#include "runtime/attention_options.h"

#include "attention/backends/factory.h"
#include "base/strings.h"
#include "platform/probe.h"
#include "weights/pipeline_folder.h"
#include "weights/quantization.h"

namespace tessera::runtime {

Result<attention::SelectionTable> selections_of(const RuntimeOptions& o) {
  attention::SelectionTable selections;
  const auto quality = attention::parse_quality(o.quality);
  if (!quality) {
    return fail(ErrorCode::Usage, strings::join("unknown quality '", o.quality, "'"), "use exact, high or fast");
  }
  selections.base.quality = *quality;
  selections.base.server_origin = o.attention_backend_origin;
  selections.base.component_origin = o.component_attention_backends_origin;
  if (!o.attention_backend.empty()) {
    TESSERA_TRY(selections.base.server, attention::parse_choice(o.attention_backend));
  }
  TESSERA_TRY(selections.choices, attention::parse_component_choices(o.component_attention_backends));
  return selections;
}

Status add_weight_formats(const std::filesystem::path& folder, attention::SelectionTable& selections) {
  TESSERA_TRY(const auto pipeline, weights::open_pipeline_folder(folder));
  for (const auto& [component, of_class] : pipeline.components) {
    if (!std::filesystem::exists(pipeline.folder(component) / "config.json")) continue;  // a tokenizer, a scheduler
    TESSERA_TRY(const Json config, pipeline.config(component));
    const std::string format = weights::attention_format(config);
    if (format.empty()) continue;
    attention::Selection own = selections.base;
    own.quant = format;
    selections.components.emplace(component, std::move(own));
  }
  return {};
}

Result<attention::EngineOptions> attention_options(const RuntimeOptions& o, const at::Device& device) {
  attention::EngineOptions options;
  TESSERA_TRY(options.device, platform::probe_device(device.str()));
  attention::add_process_backends(options.device);
  TESSERA_TRY(options.selections, selections_of(o));
  if (!o.attention_canary.empty()) {
    TESSERA_TRY(options.canary, attention::parse_canary(o.attention_canary));
  }
  TESSERA_TRY(options.injections, attention::parse_injections(o.inject));
  return options;
}

}  // namespace tessera::runtime
