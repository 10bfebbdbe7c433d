// A model folder in the layout of diffusers: model_index.json and a folder for each component.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace tessera::weights {

/// The class that a component is loaded with, e.g. {"diffusers", "FluxTransformer2DModel"}.
struct ComponentClass {
  std::string library;
  std::string name;
};

/// What model_index.json says. Components that are switched off there (null) are left out.
struct PipelineFolder {
  std::filesystem::path path;
  std::string class_name;  ///< "FluxPipeline"
  std::map<std::string, ComponentClass> components;
  Json index;  ///< the whole file, for switches such as "boundary_ratio"

  bool has(const std::string& component) const { return components.contains(component); }

  /// The folder of a component.
  std::filesystem::path folder(const std::string& component) const { return path / component; }

  /// A component's configuration file as JSON; an object, or an error that names the file.
  Result<Json> config(const std::string& component, const std::string& file = "config.json") const;
};

/// Errors: NotFound (no such folder, no model_index.json), BadFile (not a pipeline description).
Result<PipelineFolder> open_pipeline_folder(const std::filesystem::path& path);

}  // namespace tessera::weights
