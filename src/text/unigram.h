// The unigram model of sentencepiece (T5, UMT5): the most probable split of a word into pieces.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/token_model.h"

namespace tessera::text {

/// `pieces`: text and log probability, the index is the id. Characters without a piece give `unknown_id`, runs fused.
/// Errors: BadFile when the list is empty, `unknown_id` is out of range or a score is not a number.
Result<std::unique_ptr<TokenModel>> make_unigram(const std::vector<std::pair<std::string, double>>& pieces,
                                                 int64_t unknown_id);

}  // namespace tessera::text
