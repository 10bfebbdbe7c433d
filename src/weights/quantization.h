// How a component's weights are quantised, as far as its config and its headers tell.
#pragma once

#include <string>

#include "base/json.h"
#include "weights/checkpoint.h"

namespace tessera::weights {

/// A name for people: "fp8 with scales", "nvfp4", "bitsandbytes", "svdquant", "gptq or awq", or what the config calls
/// it; empty when nothing points to a quantisation. `config`: the component's config.json, or null.
std::string quantization_of(const Json& config, const Checkpoint& checkpoint);

/// The name under which the policy of attention knows a declared format: "modelopt_fp4", "modelopt_fp8", else the
/// method's own name in lower case; empty when `config` declares none.
std::string attention_format(const Json& config);

}  // namespace tessera::weights
