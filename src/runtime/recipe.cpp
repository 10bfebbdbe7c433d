#include "runtime/recipe.h"

#include "pipeline/request_json.h"

namespace tessera::runtime {

Json to_json(const Recipe& recipe, const std::string& version) {
  const RuntimeOptions& o = recipe.options;
  return {{"tessera", version},
          {"model", o.model},
          {"request", pipeline::to_json(recipe.request)},
          {"device", o.device},
          {"dtype", o.dtype},
          {"quality", o.quality},
          {"threads", o.threads},
          {"attention_backend", o.attention_backend},
          {"component_attention_backends", o.component_attention_backends}};
}

Result<Recipe> parse_recipe(const Json& json, const std::string& origin) {
  if (!json.is_object() || !json.contains("tessera") || !json.contains("request")) {
    return fail(ErrorCode::BadFile, origin + " holds no recipe", "only pictures made by tessera have one");
  }
  Recipe recipe;
  RuntimeOptions& o = recipe.options;
  TESSERA_TRY_OK(pipeline::apply_json(json["request"], recipe.request));
  TESSERA_TRY(o.model, json::value_or<std::string>(json, "model", o.model));
  TESSERA_TRY(o.device, json::value_or<std::string>(json, "device", o.device));
  TESSERA_TRY(o.dtype, json::value_or<std::string>(json, "dtype", o.dtype));
  TESSERA_TRY(o.quality, json::value_or<std::string>(json, "quality", o.quality));
  TESSERA_TRY(o.threads, json::value_or<int>(json, "threads", o.threads));
  TESSERA_TRY(o.attention_backend, json::value_or<std::string>(json, "attention_backend", ""));
  TESSERA_TRY(o.component_attention_backends, json::value_or<std::string>(json, "component_attention_backends", ""));
  o.attention_backend_origin = o.component_attention_backends_origin = "recipe";
  return recipe;
}

}  // namespace tessera::runtime
