// The flags of `generate` as data.
#pragma once

#include <optional>
#include <string>

#include "apps/cli/command.h"
#include "pipeline/request.h"
#include "runtime/recipe.h"

namespace tessera::cli {

/// What the command line said; texts where a number needs a better message than the parser's.
struct GenerateFlags {
  pipeline::GenerateRequest request;
  std::optional<std::string> prompt;
  std::optional<std::string> model;
  std::optional<std::string> seed;
  std::optional<std::string> cfg_normalization;
  std::string out;
  std::string image;
  std::string recipe;
  std::string preview_dir;
  int64_t preview = 0;
  int64_t num_images = 1;
  bool no_metadata = false;
  std::string attention_canary;
  std::string inject;
};

/// Adds the flags that say what to make: model, texts, seed, sizes, guidance.
void add_request_flags(CLI::App& command, GenerateFlags& flags);

/// Adds all flags of `generate`.
void add_generate_flags(CLI::App& command, GenerateFlags& flags);

/// Parses 0 … 2^64-1. Errors: Usage.
Result<uint64_t> parse_seed(const std::string& text);

/// What is to be run: the recipe of --recipe (or an empty one) with every flag that was given laid over it.
/// The seed is random when neither names one. Errors: Usage, NotFound, BadFile.
Result<runtime::Recipe> requested(const GenerateFlags& flags, const SharedOptions& shared, const CLI::App& command);

/// Reads --image into the request; no file named: nothing. Errors: NotFound, BadFile.
Status read_image(const std::string& file, pipeline::GenerateRequest& request);

}  // namespace tessera::cli
