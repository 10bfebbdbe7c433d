// A tokenizer put together from parts: added tokens, normalizer, pre-tokenizer, model. All kinds but ByT5 are one of
// these.
#pragma once

#include <memory>
#include <vector>

#include "text/added_tokens.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/token_model.h"
#include "text/tokenizer.h"

namespace tessera::text {

/// How pieces are written back as text.
enum class PieceSpelling { ByteCharacters, Metaspace };

struct TokenizerParts {
  std::vector<NormalizerStep> normalizer;
  std::vector<PreTokenizerStep> pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  AddedTokens added;
  PieceSpelling spelling = PieceSpelling::ByteCharacters;
  Framing framing;
};

std::unique_ptr<Tokenizer> make_pipeline_tokenizer(TokenizerParts parts);

}  // namespace tessera::text
