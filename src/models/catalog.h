// From a model folder to its pipeline: one row per class name of model_index.json.
#pragma once

#include "tensor/aten.h"

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/pipeline.h"

namespace tessera::models {

/// Opens a diffusers folder for generation; reads configs only, weights are loaded by the stages that need them.
/// Errors: NotFound (no folder, no model_index.json), BadFile (damaged or contradictory configs), Unsupported (unknown
/// pipeline or component class, named with the known ones).
Result<std::unique_ptr<pipeline::Pipeline>> open_pipeline(const std::filesystem::path& folder);

/// The class names that open_pipeline knows.
std::vector<std::string> known_pipelines();

}  // namespace tessera::models
