#include "models/text/prompt_tokens.h"

#include <numeric>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/unwrap.h"

namespace tessera::models {

PromptTokens tokenize_prompt(const text::Tokenizer& tokenizer, const std::string& prompt, int64_t max_length,
                             const std::string& encoder) {
  const text::PaddedIds padded = unwrap(tokenizer.encode_padded(prompt, max_length));
  if (!padded.cut.empty()) {
    log::warning(strings::join("the prompt is longer than the ", max_length, " tokens of ", encoder,
                               "; it does not see: \"", padded.cut, "\""));
  }
  PromptTokens out;
  out.ids = at::empty({1, max_length}, at::kLong);
  std::copy(padded.ids.begin(), padded.ids.end(), out.ids.mutable_data_ptr<int64_t>());
  out.mask = padded.attention_mask;
  out.length = std::accumulate(out.mask.begin(), out.mask.end(), int64_t{0});
  return out;
}

void check_token_ids(const at::Tensor& ids, int64_t vocab_size, const std::string& encoder) {
  if (ids.numel() == 0) return;
  const auto highest = ids.max().item<int64_t>();
  if (highest < vocab_size && ids.min().item<int64_t>() >= 0) return;
  throw RuntimeFault({ErrorCode::BadFile,
                      strings::join(encoder, " knows ", vocab_size, " tokens, the prompt has id ", highest),
                      "the tokenizer does not belong to this text encoder"});
}

int64_t tokenizer_max_length(const std::filesystem::path& folder, int64_t limit) {
  const std::filesystem::path file = folder / "tokenizer_config.json";
  if (!file::exists(file)) return limit;
  const Json config = unwrap(json::read_file(file));
  // Tokenizers without a limit store 1e30 here, which is no integer.
  const auto it = config.find("model_max_length");
  if (it == config.end() || !it->is_number()) return limit;
  const double length = it->get<double>();
  return length >= 1 && length < static_cast<double>(limit) ? static_cast<int64_t>(length) : limit;
}

}  // namespace tessera::models
