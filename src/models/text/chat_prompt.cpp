#include "models/text/chat_prompt.h"

#include <numeric>

#include "base/log.h"
#include "base/strings.h"
#include "base/unwrap.h"

namespace tessera::models {
namespace {

at::Tensor row(const std::vector<int64_t>& values) {
  at::Tensor out = at::empty({1, static_cast<int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<int64_t>());
  return out;
}

text::PaddedIds encode(const text::Tokenizer& tokenizer, const std::string& text, int64_t max_length, Padding padding) {
  if (padding == Padding::ToMaxLength) return unwrap(tokenizer.encode_padded(text, max_length));
  text::PaddedIds out;
  out.ids = unwrap(tokenizer.encode_truncated(text, max_length, &out.cut));
  out.attention_mask.assign(out.ids.size(), 1);
  return out;
}

}  // namespace

std::string users_words(std::string cut, const ChatTemplate& chat) {
  if (chat.after.ends_with(cut)) return {};
  if (cut.ends_with(chat.after)) cut.resize(cut.size() - chat.after.size());
  return cut;
}

void warn_of_cut(const std::string& words, int64_t max_length) {
  if (words.empty()) return;
  log::warning(strings::join("the prompt is longer than the ", max_length,
                             " tokens that the model takes; it does not see: \"", words, "\""));
}

PromptTokens tokenize_chat(const text::Tokenizer& tokenizer, const ChatTemplate& chat, const std::string& prompt,
                           int64_t max_length, Padding padding) {
  const std::string text = strings::join(chat.before, prompt, chat.after);
  text::PaddedIds encoded = encode(tokenizer, text, max_length, padding);
  warn_of_cut(users_words(std::move(encoded.cut), chat), max_length);
  if (padding == Padding::ToMaxLength && tokenizer.framing().pad_left) {
    throw RuntimeFault({ErrorCode::Unsupported, "this tokenizer pads on the left", "set padding_side to right"});
  }
  PromptTokens out;
  out.ids = row(encoded.ids);
  out.mask = std::move(encoded.attention_mask);
  out.length = std::accumulate(out.mask.begin(), out.mask.end(), int64_t{0});
  return out;
}

at::Tensor mask_tensor(const PromptTokens& tokens) {
  return row(tokens.mask);
}

}  // namespace tessera::models
