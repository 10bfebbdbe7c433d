// UTF-8 text, character classes and normal forms as the tokenizers need them; the data comes from ICU.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::text {

/// Position of the first byte that is not part of well-formed UTF-8 (surrogates count as malformed).
std::optional<size_t> first_malformed_byte(std::string_view utf8);

/// Errors: Usage, naming the byte, when the text is not UTF-8. Everything below expects checked text.
Status check_utf8(std::string_view text);

/// The code point at `position`, which moves past it.
char32_t next_code_point(std::string_view utf8, size_t& position);

void append_utf8(std::string& out, char32_t c);

std::u32string to_utf32(std::string_view utf8);
std::string to_utf8(std::u32string_view text);

/// \p{L}, \p{N} and White_Space of Unicode.
bool is_letter(char32_t c);
bool is_number(char32_t c);
bool is_white_space(char32_t c);

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };
std::string normal_form(std::string_view utf8, NormalForm form);

/// Lower case of each character by itself, without regard to its neighbours or a language.
std::string lower_case(std::string_view utf8);

/// Ends of the extended grapheme clusters, in bytes.
std::vector<size_t> grapheme_ends(std::string_view utf8);

}  // namespace tessera::text
