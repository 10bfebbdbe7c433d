// Filling in and judging a request before anything is loaded.
#pragma once

#include "tensor/aten.h"

#include <filesystem>

#include "base/result.h"
#include "pipeline/request.h"

namespace tessera::pipeline {

/// `request` with absent fields from the model folder's tessera.json (keys as request fields; the file is optional),
/// then from the pipeline's own defaults. Errors: BadFile for a damaged tessera.json or a field of the wrong type.
Result<GenerateRequest> fill_defaults(const GenerateRequest& request, const GenerateRequest& defaults,
                                      const std::filesystem::path& model_folder);

/// Errors: Usage, naming the nearest valid value, when `value` is not a positive multiple of `multiple`.
Status check_multiple(const char* name, int64_t value, int64_t multiple);

/// Errors: Usage when value is outside [low, high].
Status check_range(const char* name, int64_t value, int64_t low, int64_t high);

/// Errors: Usage for infinite or undefined numbers.
Status check_finite(const char* name, std::optional<double> value);

}  // namespace tessera::pipeline
