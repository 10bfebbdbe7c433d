// tokenizer.json: its vocabulary, merges, normalizer, pre-tokenizer and post-processor as our parts.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer.h"

namespace tessera::text {

struct BpeVocabulary {
  std::vector<std::pair<std::string, int64_t>> entries;
  Merges merges;
};

struct UnigramVocabulary {
  std::vector<std::pair<std::string, double>> pieces;
  int64_t unknown_id = 0;
  std::optional<Charsmap> charsmap;
};

// All functions take the whole document. Errors: BadFile (wrong type or damaged), Unsupported (a part we do not have).

Result<std::string> model_type(const Json& document);
Result<BpeVocabulary> bpe_vocabulary(const Json& document);
Result<BpeOptions> bpe_options(const Json& document);
Result<UnigramVocabulary> unigram_vocabulary(const Json& document);
Result<std::vector<NormalizerStep>> normalizer_steps(const Json& document);
Result<std::vector<PreTokenizerStep>> pre_tokenizer_steps(const Json& document);
/// Prefix and suffix ids of the post-processor; empty when it adds nothing.
Result<Framing> post_processor_framing(const Json& document);
Result<std::vector<AddedToken>> added_tokens(const Json& document);

/// Entries of a vocab.json object. Errors: BadFile.
Result<std::vector<std::pair<std::string, int64_t>>> vocabulary_entries(const Json& object);

}  // namespace tessera::text
