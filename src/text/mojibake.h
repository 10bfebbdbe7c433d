// Does a text look as if it had been decoded with the wrong encoding ("cafÃ©")? And putting it right.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::text {

/// True when the text holds a sequence of characters that hardly ever stands side by side on purpose.
bool looks_misdecoded(std::u32string_view text);

/// Ranges [begin, end) that look like UTF-8 read as a single-byte encoding.
std::vector<std::pair<size_t, size_t>> find_misread_utf8(std::u32string_view text);

/// Undoes wrong decodings, one after another, until nothing looks wrong or can be undone.
/// Source: the same result as ftfy.fix_encoding.
std::u32string fix_encoding(std::u32string text);

}  // namespace tessera::text
