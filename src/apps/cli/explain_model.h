// The attention sites of a model folder at a size, for `explain --model`: read from configs, no weights needed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/cli/explain.h"
#include "attention/selections.h"

namespace tessera::cli {

/// Which model, and the fields of a request that decide how large its attention is; absent ones take its defaults.
struct ModelSize {
  std::string model;
  std::optional<int64_t> height;
  std::optional<int64_t> width;
  std::optional<int64_t> num_frames;
  std::optional<int64_t> max_sequence_length;
};

/// One site for each kind of call; the weight formats that the folder declares go into `selections`. Errors: NotFound,
/// BadFile (the folder), Usage (a size that the model refuses).
Result<std::vector<ExplainSite>> model_sites(const ModelSize& size, DType dtype, attention::SelectionTable& selections);

/// The error that `generate` would end with although every site has a backend: an override that controls no layer, or
/// that layers do not follow.
Status check_model_overrides(const std::vector<ExplainSite>& sites, const ExplainContext& context);

}  // namespace tessera::cli
