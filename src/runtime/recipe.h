// The recipe of a picture: everything that repeats it bit for bit on the same build.
#pragma once

#include "tensor/aten.h"

#include "base/json.h"
#include "pipeline/request.h"
#include "runtime/options.h"

namespace tessera::runtime {

/// A completed request and how it was run.
struct Recipe {
  pipeline::GenerateRequest request;
  RuntimeOptions options;
};

/// {"tessera": version, "model", "request": {…}, "device", "dtype", "quality", "threads", "attention_backend", …}.
Json to_json(const Recipe& recipe, const std::string& version);

/// Errors: BadFile when the JSON is no recipe of ours. `origin`: the file's name, for messages.
Result<Recipe> parse_recipe(const Json& json, const std::string& origin);

}  // namespace tessera::runtime
