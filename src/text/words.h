// Cutting text into words the way CLIP and Qwen2 do; the regular expressions of the reference, written out by hand.
#pragma once

#include <string_view>
#include <vector>

namespace tessera::text {

/// The expression of Qwen2's pre-tokenizer, as it stands in tokenizer.json files.
inline constexpr std::string_view kQwenExpression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Words of Qwen2: contractions, letters with one leading mark, single digits, marks, white space. Nothing is lost.
std::vector<std::string_view> qwen_words(std::string_view utf8);

/// Words of CLIP (in lower case already): contractions, letters, single digits, marks. White space is dropped.
std::vector<std::string_view> clip_words(std::string_view utf8);

/// Runs without white space.
std::vector<std::string_view> words_between_white_space(std::string_view utf8);

}  // namespace tessera::text
