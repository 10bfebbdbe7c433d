// The attention sites of a model folder at a size, for `explain --model`: read from configs, no weights needed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/explain.h"

namespace tessera::cli {

/// Which model, and the fields of a request that decide how large its attention is; absent ones take its defaults.
struct ModelSize {
  std::string model;
  std::optional<int64_t> height;
  std::optional<int64_t> width;
  std::optional<int64_t> num_frames;
  std::optional<int64_t> max_sequence_length;
};

/// One site for each kind of call. Errors: NotFound, BadFile (the folder), Usage (a size that the model refuses).
Result<std::vector<ExplainSite>> model_sites(const ModelSize& size, DType dtype);

}  // namespace tessera::cli
