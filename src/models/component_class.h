// Checks that a model folder holds the component classes that a pipeline is written for.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "weights/pipeline_folder.h"

namespace tessera::models {

/// `wanted`: component and class name. Errors: BadFile for a component that model_index.json does not list,
/// Unsupported for another class.
Status expect_classes(const weights::PipelineFolder& folder,
                      const std::vector<std::pair<std::string, std::string>>& wanted);

}  // namespace tessera::models
