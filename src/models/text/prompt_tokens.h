// A prompt's token ids as a tensor, with a warning for what did not fit.
#pragma once

#include "tensor/aten.h"

#include "text/tokenizer.h"

namespace tessera::models {

struct PromptTokens {
  at::Tensor ids;             // [1, L] int64
  std::vector<int64_t> mask;  // [L], 1 for a token of the text
  int64_t length = 0;         ///< how many tokens are not padding
};

/// Ids padded to max_length. Logs a warning with the words that were cut. `encoder` names the encoder in it.
/// Errors: throws RuntimeFault for texts that cannot be encoded.
PromptTokens tokenize_prompt(const text::Tokenizer& tokenizer, const std::string& prompt, int64_t max_length,
                             const std::string& encoder);

/// Errors: throws RuntimeFault{BadFile} when an id is outside the encoder's vocabulary: the tokenizer is not its own.
void check_token_ids(const at::Tensor& ids, int64_t vocab_size, const std::string& encoder);

/// model_max_length of the folder's tokenizer_config.json, at most `limit`; `limit` when the file has none.
int64_t tokenizer_max_length(const std::filesystem::path& folder, int64_t limit);

}  // namespace tessera::models
