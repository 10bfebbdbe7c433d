#include "weights/quantization.h"

#include <algorithm>

#include "base/strings.h"

namespace tessera::weights {
namespace {

/// Tensors that only exist beside quantised weights. The first row that matches decides, special ones first.
struct Mark {
  const char* ending;
  const char* name;
};
constexpr Mark kMarks[] = {
    {".wscales", "svdquant"},
    {".absmax", "bitsandbytes"},
    {".weight_scale_2", "nvfp4"},
    {".qzeros", "gptq or awq"},
    {".qweight", "gptq or awq"},
    {".weight_scale_inv", "fp8 with scales"},
    {".scale_weight", "fp8 with scales"},
    {".weight_scale", "scaled weights"},
};

bool has_ending(const Checkpoint& checkpoint, const std::string& ending) {
  return std::ranges::any_of(checkpoint.tensors, [&](const auto& entry) { return entry.first.ends_with(ending); });
}

bool has_fp8(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors,
                             [](const auto& entry) { return entry.second.info.stored_dtype.starts_with("F8_E"); });
}

}  // namespace

std::string attention_format(const Json& config) {
  if (!config.is_object() || !config.contains("quantization_config")) return "";
  const Json& declared = config.at("quantization_config");
  const auto text = [&](const char* key) {
    const bool there = declared.is_object() && declared.contains(key) && declared.at(key).is_string();
    return there ? strings::lower(declared.at(key).get<std::string>()) : std::string();
  };
  const std::string method = text("quant_method");
  if (method != "modelopt") return method;
  // ModelOpt writes "quant_algo": "NVFP4" or "FP8"; diffusers' form of it "quant_type".
  const std::string algorithm = text("quant_algo").empty() ? text("quant_type") : text("quant_algo");
  if (algorithm.find("fp4") != std::string::npos) return "modelopt_fp4";
  return algorithm.find("fp8") != std::string::npos ? "modelopt_fp8" : method;
}

std::string quantization_of(const Json& config, const Checkpoint& checkpoint) {
  const auto declared = config.is_object() ? config.find("quantization_config") : config.end();
  if (config.is_object() && declared != config.end() && declared->is_object()) {
    const auto method = declared->find("quant_method");
    return method != declared->end() && method->is_string() ? method->get<std::string>() : "declared in config.json";
  }
  for (const Mark& mark : kMarks) {
    if (!has_ending(checkpoint, mark.ending)) continue;
    const bool scaled_fp8 = std::string_view(mark.ending) == ".weight_scale" && has_fp8(checkpoint);
    return scaled_fp8 ? "fp8 with scales" : mark.name;
  }
  return has_fp8(checkpoint) ? "fp8" : "";
}

}  // namespace tessera::weights
