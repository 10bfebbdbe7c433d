// Qwen-Image's prompt: the user's words inside an instruction, of whose tokens the first ones are dropped again.
#pragma once

#include "tensor/aten.h"

#include "models/text/qwen_lm.h"
#include "pipeline/context.h"
#include "text/tokenizer.h"

namespace tessera::models {

/// One text under its tag in the trace.
struct QwenImageText {
  const char* tag;
  std::string text;
};

/// How many tokens the instruction before the user's words has; their states are dropped.
inline constexpr int64_t kQwenImageDropped = 34;

/// The states that the transformer sees, at most max_length tokens: [1, T, C].
/// Warns of words that were cut. Traces tokens/text_encoder/<tag>/… and the encoder below text/text_encoder/<tag>.
at::Tensor encode_qwen_image_prompt(const QwenImageText& text, int64_t max_length, const text::Tokenizer& tokenizer,
                                    const QwenLm& encoder, const pipeline::Context& context);

}  // namespace tessera::models
