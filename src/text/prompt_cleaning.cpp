#include "text/prompt_cleaning.h"

#include <algorithm>
#include <utility>

#include <unicode/uchar.h>

#include "text/html_unescape.h"
#include "text/mojibake.h"
#include "text/encodings.h"
#include "text/unicode.h"

namespace tessera::text {
namespace {

constexpr std::pair<char32_t, std::u32string_view> kLigatures[] = {
    {0x132, U"IJ"},       {0x133, U"ij"},  {0x149, U"\u02bcn"}, {0x1c4, U"D\u017d"}, {0x1c5, U"D\u017e"},
    {0x1c6, U"d\u017e"},  {0x1c7, U"LJ"},  {0x1c8, U"Lj"},      {0x1c9, U"lj"},      {0x1ca, U"NJ"},
    {0x1cb, U"Nj"},       {0x1cc, U"nj"},  {0x1f1, U"DZ"},      {0x1f2, U"Dz"},      {0x1f3, U"dz"},
    {0xfb00, U"ff"},      {0xfb01, U"fi"}, {0xfb02, U"fl"},     {0xfb03, U"ffi"},    {0xfb04, U"ffl"},
    {0xfb05, U"\u017ft"}, {0xfb06, U"st"}};

void append_without_ligature(std::u32string& out, char32_t c) {
  const auto* it = std::lower_bound(std::begin(kLigatures), std::end(kLigatures), c,
                                    [](const auto& row, char32_t value) { return row.first < value; });
  if (it != std::end(kLigatures) && it->first == c) {
    out += it->second;
  } else {
    out += c;
  }
}

void append_at_normal_width(std::u32string& out, char32_t c) {
  if (c == 0x3000) {
    out += U' ';
  } else if (c >= 0xff01 && c < 0xfff0) {
    out += to_utf32(normal_form(to_utf8(std::u32string(1, c)), NormalForm::Nfkc));
  } else {
    out += c;
  }
}

template <typename Append>
std::u32string each(std::u32string_view text, Append append) {
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text) append(out, c);
  return out;
}

char32_t straight_quote(char32_t c) {
  if (c == 0x2bc || (c >= 0x2018 && c <= 0x201b)) return '\'';
  return c >= 0x201c && c <= 0x201f ? '"' : c;
}

std::u32string plain_line_ends(std::u32string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i];
    const bool line_end = c == '\r' || c == 0x2028 || c == 0x2029 || c == 0x85;
    out += line_end ? U'\n' : c;
    if (c == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  return out;
}

// Length of a terminal's escape sequence (ESC [ digits and semicolons, a letter) at the front; 0 for none.
size_t terminal_escape(std::u32string_view rest) {
  if (rest.size() < 3 || rest[0] != 0x1b || rest[1] != '[') return 0;
  size_t i = 2;
  while (i < rest.size() && (rest[i] == ';' || u_isdigit(static_cast<UChar32>(rest[i])))) ++i;
  const char32_t c = i < rest.size() ? rest[i] : 0;
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? i + 1 : 0;
}

std::u32string without_terminal_escapes(std::u32string_view text) {
  std::u32string out;
  for (size_t i = 0; i < text.size();) {
    if (const size_t length = terminal_escape(text.substr(i))) {
      i += length;
    } else {
      out += text[i++];
    }
  }
  return out;
}

// Controls that show nothing: ASCII ones but white space, deprecated Arabic ones, the byte order mark, annotations.
bool is_removed_control(char32_t c) {
  return c <= 0x08 || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f || (c >= 0x206a && c <= 0x206f) ||
         c == 0xfeff || (c >= 0xfff9 && c <= 0xfffc);
}

std::u32string fix_characters(std::u32string text) {
  text = replace_c1_controls(text);
  text = each(text, append_without_ligature);
  text = each(text, append_at_normal_width);
  std::transform(text.begin(), text.end(), text.begin(), straight_quote);
  text = without_terminal_escapes(plain_line_ends(text));
  std::erase_if(text, is_removed_control);
  return to_utf32(normal_form(to_utf8(text), NormalForm::Nfc));
}

std::u32string fix_segment(std::u32string text, bool unescape) {
  while (true) {
    std::u32string fixed = unescape ? unescape_html_carefully(text) : text;
    fixed = fix_characters(fix_encoding(std::move(fixed)));
    if (fixed == text) return text;
    text = std::move(fixed);
  }
}

// Line by line; after the first "<" the text is taken for HTML source, whose references are kept.
std::u32string fix_lines(std::u32string_view text) {
  constexpr size_t kLongestSegment = 1'000'000;
  std::u32string out;
  bool unescape = true;
  while (!text.empty()) {
    const auto newline = text.find(U'\n');
    const size_t end = std::min(newline == std::u32string_view::npos ? text.size() : newline + 1, kLongestSegment);
    const auto segment = text.substr(0, end);
    unescape = unescape && segment.find(U'<') == std::u32string_view::npos;
    out += fix_segment(std::u32string(segment), unescape);
    text.remove_prefix(end);
  }
  return out;
}

// Python's white space, which counts the four separators of ASCII.
bool is_python_space(char32_t c) {
  return is_white_space(c) || (c >= 0x1c && c <= 0x1f);
}

std::u32string single_spaces(std::u32string_view text) {
  std::u32string out;
  bool pending = false;
  for (const char32_t c : text) {
    if (is_python_space(c)) {
      pending = true;
      continue;
    }
    if (pending && !out.empty()) out += U' ';
    pending = false;
    out += c;
  }
  return out;
}

}  // namespace

Result<std::string> fix_text(std::string_view text) {
  TESSERA_TRY_OK(check_utf8(text));
  return to_utf8(fix_lines(to_utf32(text)));
}

Result<std::string> clean_prompt(std::string_view text) {
  TESSERA_TRY_OK(check_utf8(text));
  return to_utf8(single_spaces(unescape_html(unescape_html(fix_lines(to_utf32(text))))));
}

}  // namespace tessera::text
