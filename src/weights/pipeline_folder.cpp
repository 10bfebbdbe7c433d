#include "weights/pipeline_folder.h"

#include "base/strings.h"

namespace tessera::weights {
namespace {

Result<Json> read_object(const std::filesystem::path& path) {
  TESSERA_TRY(Json json, json::read_file(path));
  if (!json.is_object()) return fail(ErrorCode::BadFile, strings::join(path.string(), " is not a JSON object"));
  return json;
}

/// ["library", "Class"] is a component, [null, null] one that is switched off; other values are settings.
std::map<std::string, ComponentClass> components_of(const Json& index) {
  std::map<std::string, ComponentClass> components;
  for (const auto& [name, value] : index.items()) {
    if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_string()) continue;
    components[name] = {value[0].get<std::string>(), value[1].get<std::string>()};
  }
  return components;
}

}  // namespace

Result<Json> PipelineFolder::config(const std::string& component, const std::string& file) const {
  return read_object(folder(component) / file);
}

Result<PipelineFolder> open_pipeline_folder(const std::filesystem::path& path) {
  std::error_code ec;
  if (!std::filesystem::is_directory(path, ec)) {
    return fail(ErrorCode::NotFound, strings::join("model folder ", path.string(), " is not there"),
                "name a folder that holds model_index.json");
  }
  const std::filesystem::path file = path / "model_index.json";
  if (!std::filesystem::exists(file, ec)) {
    return fail(ErrorCode::NotFound, strings::join(path.string(), " has no model_index.json"),
                "name the folder of a whole pipeline in diffusers' layout");
  }
  TESSERA_TRY(Json index, read_object(file));
  const auto it = index.find("_class_name");
  if (it == index.end() || !it->is_string()) {
    return fail(ErrorCode::BadFile, strings::join(file.string(), " names no pipeline class (_class_name)"));
  }
  PipelineFolder folder{path, it->get<std::string>(), components_of(index), {}};
  folder.index = std::move(index);
  return folder;
}

}  // namespace tessera::weights
