// spiece.model / tokenizer.model: the pieces, scores and character map of a sentencepiece model file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::text {

struct SentencePiece {
  enum class Kind { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
  std::string text;
  double score = 0;
  Kind kind = Kind::Normal;
};

struct SentencePieceModel {
  enum class Kind { Unigram = 1, Bpe = 2, Word = 3, Char = 4 };
  std::vector<SentencePiece> pieces;
  Kind kind = Kind::Unigram;
  int64_t unknown_id = 0;
  std::string charsmap;  ///< empty when the model normalizes nothing
};

/// Reads the protocol buffer by hand: four fields of it matter. Errors: BadFile when it is damaged or has no pieces.
Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes);

}  // namespace tessera::text
