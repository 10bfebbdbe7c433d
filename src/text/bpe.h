// Byte-pair encoding over a vocabulary and ranked merges (CLIP, Qwen2, Gemma).
#pragma once

#include <memory>
#include <string>

#include "text/token_model.h"

namespace tessera::text {

struct BpeOptions {
  std::string unknown_piece;       ///< taken for a character without a piece; empty = such characters vanish
  std::string end_of_word_suffix;  ///< belongs to the last character of a word, e.g. "</w>"
  std::string continuing_prefix;   ///< belongs to every character but the first
  bool fuse_unknown = false;       ///< a run of unknown characters gives one id
  bool byte_fallback = false;      ///< unknown characters become their bytes "<0xE2>"
  bool ignore_merges = false;      ///< a word that is a piece is taken as it is
};

using Merges = std::vector<std::pair<std::string, std::string>>;

/// Errors: BadFile when a merge names a piece that the vocabulary lacks.
Result<std::unique_ptr<TokenModel>> make_bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options);

}  // namespace tessera::text
