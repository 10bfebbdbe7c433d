#include "runtime/attention_options.h"

#include "attention/backends/factory.h"
#include "base/strings.h"
#include "platform/probe.h"

namespace tessera::runtime {
Result<attention::EngineOptions> attention_options(const RuntimeOptions& o, const at::Device& device) {
  attention::EngineOptions options;
  TESSERA_TRY(options.device, platform::probe_device(device.str()));
  options.device.built = attention::built_backend_names();
  auto& selections = options.selections;
  const auto quality = attention::parse_quality(o.quality);
  if (!quality) {
    return fail(ErrorCode::Usage, strings::join("unknown quality '", o.quality, "'"), "use exact, high or fast");
  }
  selections.base.quality = *quality;
  if (!o.attention_backend.empty()) {
    TESSERA_TRY(selections.base.server, attention::parse_choice(o.attention_backend));
  }
  TESSERA_TRY(selections.choices, attention::parse_component_choices(o.component_attention_backends));
  if (!o.attention_canary.empty()) {
    TESSERA_TRY(options.canary, attention::parse_canary(o.attention_canary));
  }
  TESSERA_TRY(options.injections, attention::parse_injections(o.inject));
  return options;
}

}  // namespace tessera::runtime
