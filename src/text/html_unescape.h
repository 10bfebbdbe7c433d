// HTML character references ("&eacute;", "&#233;") back to characters.
#pragma once

#include <string>
#include <string_view>

namespace tessera::text {

/// All references by the rules of HTML5, also those without a semicolon ("&amp" and "&notit;").
/// Source: the same result as Python's html.unescape.
std::u32string unescape_html(std::u32string_view text);

/// Only references with a semicolon, and upper-case spellings of lower-case names ("&EACUTE;").
/// Source: the same result as ftfy's unescape_html.
std::u32string unescape_html_carefully(std::u32string_view text);

}  // namespace tessera::text
