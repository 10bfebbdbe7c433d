#include "models/qwen_image/prompt.h"

#include "base/strings.h"
#include "models/text/chat_prompt.h"
#include "pipeline/stage.h"

namespace tessera::models {
namespace {

// The instruction is part of the trained model: any other text gives other pictures.
constexpr ChatTemplate kTemplate = {
    "<|im_start|>system\nDescribe the image by detailing the color, shape, size, texture, quantity, text, spatial "
    "relationships of the objects and background:<|im_end|>\n<|im_start|>user\n",
    "<|im_end|>\n<|im_start|>assistant\n"};
constexpr int64_t kTokenizerLimit = 1024;  // of the user's part, before the request's own limit

/// Words of the user behind the request's own limit, which the reference cuts only after encoding.
std::string words_behind(const PromptTokens& tokens, int64_t limit, const text::Tokenizer& tokenizer) {
  if (tokens.length <= limit) return {};
  const int64_t* ids = tokens.ids.const_data_ptr<int64_t>();
  return users_words(tokenizer.decode({ids + limit, ids + tokens.length}), kTemplate);
}

}  // namespace

at::Tensor encode_qwen_image_prompt(const QwenImageText& text, int64_t max_length, const text::Tokenizer& tokenizer,
                                    const QwenLm& encoder, const pipeline::Context& context) {
  const PromptTokens tokens =
      tokenize_chat(tokenizer, kTemplate, text.text, kTokenizerLimit + kQwenImageDropped, Padding::None);
  warn_of_cut(words_behind(tokens, kQwenImageDropped + max_length, tokenizer), max_length);
  const std::string name = strings::join("tokens/text_encoder/", text.tag);
  context.record(name + "/input_ids", tokens.ids);
  context.record(name + "/attention_mask", mask_tensor(tokens));
  const auto scope = pipeline::scope_of(context, "text_encoder", strings::join("text/text_encoder/", text.tag));
  const std::array<int64_t, 1> last = {-1};
  const at::Tensor states = encoder.forward(tokens.ids, std::nullopt, last, scope).front();
  return states.slice(1, kQwenImageDropped, kQwenImageDropped + max_length);
}

}  // namespace tessera::models
