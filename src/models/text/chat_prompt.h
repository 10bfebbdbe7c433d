// A prompt inside a chat template: the words around it, and token ids that may be cut or padded.
#pragma once

#include "tensor/aten.h"

#include "models/text/prompt_tokens.h"
#include "text/tokenizer.h"

namespace tessera::models {

/// What stands before and after the user's words.
struct ChatTemplate {
  std::string_view before;
  std::string_view after;
};

/// One user turn of Qwen's chat format, with the answer begun.
inline constexpr ChatTemplate kQwenChat = {"<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"};

enum class Padding { None, ToMaxLength };

/// The ids of the whole text, cut behind max_length (the template's end too, as in the reference). Logs a warning with
/// the user's words that were cut. Errors: throws RuntimeFault for texts that cannot be encoded.
PromptTokens tokenize_chat(const text::Tokenizer& tokenizer, const ChatTemplate& chat, const std::string& prompt,
                           int64_t max_length, Padding padding);

/// `cut` without the template's end, or its part: what the user wrote. For warnings.
std::string users_words(std::string cut, const ChatTemplate& chat);

/// Logs that the model does not see `words`; silent when there are none.
void warn_of_cut(const std::string& words, int64_t max_length);

/// 1 for a token of the text, 0 for padding, [1, L] int64.
at::Tensor mask_tensor(const PromptTokens& tokens);

}  // namespace tessera::models
