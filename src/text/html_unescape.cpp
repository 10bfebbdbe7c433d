#include "text/html_unescape.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include "text/unicode.h"

namespace tessera::text {
namespace {

using Names = std::unordered_map<std::string, std::u32string>;

constexpr std::string_view kEntities =
#include "text/tables/html_entities.inc"
    ;

std::u32string parse_points(std::string_view hex) {
  std::u32string out;
  while (!hex.empty()) {
    const auto end = std::min(hex.find('.'), hex.size());
    uint32_t value = 0;
    std::from_chars(hex.data(), hex.data() + end, value, 16);
    out += static_cast<char32_t>(value);
    hex.remove_prefix(std::min(end + 1, hex.size()));
  }
  return out;
}

// Names with the semicolon where they have one.
Names make_names() {
  Names names;
  for (std::string_view rest = kEntities; !rest.empty();) {
    const auto end = rest.find(' ');
    const auto entry = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const auto equals = entry.find('=');
    names.emplace(entry.substr(0, equals), parse_points(entry.substr(equals + 1)));
  }
  return names;
}

const Names& html5_names() {
  static const Names names = make_names();
  return names;
}

bool is_digit(char32_t c) {
  return c >= '0' && c <= '9';
}
bool is_hex(char32_t c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_alphanumeric(char32_t c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Code points that HTML forbids in references, besides those with a replacement.
bool is_forbidden(uint32_t c) {
  return (c >= 0x1 && c <= 0x8) || c == 0xb || (c >= 0xe && c <= 0x1f) || (c >= 0x7f && c <= 0x9f) ||
         (c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe;
}

// Numbers 0x80 to 0x9f mean Windows-1252; the five that it does not assign stay controls.
constexpr char32_t kWindows1252[32] = {0x20ac, 0x81,   0x201a, 0x192,  0x201e, 0x2026, 0x2020, 0x2021,
                                       0x2c6,  0x2030, 0x160,  0x2039, 0x152,  0x8d,   0x17d,  0x8f,
                                       0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                       0x2dc,  0x2122, 0x161,  0x203a, 0x153,  0x9d,   0x17e,  0x178};

std::u32string character_of(uint32_t number) {
  if (number == 0 || (number >= 0xd800 && number <= 0xdfff) || number > 0x10ffff) return U"\ufffd";
  if (number >= 0x80 && number <= 0x9f) return std::u32string(1, kWindows1252[number - 0x80]);
  if (is_forbidden(number)) return {};
  return std::u32string(1, static_cast<char32_t>(number));
}

// A reference found at an ampersand: what it stands for and how many characters it takes.
struct Reference {
  std::u32string text;
  size_t length;
};

// "&#123;" or "&#x7b;", the semicolon optional.
std::optional<Reference> numeric_reference(std::u32string_view rest) {
  const bool hex = rest.size() > 2 && (rest[2] == 'x' || rest[2] == 'X');
  size_t i = hex ? 3 : 2;
  const size_t first = i;
  uint32_t number = 0;
  for (; i < rest.size() && (hex ? is_hex(rest[i]) : is_digit(rest[i])); ++i) {
    const char32_t c = rest[i];
    const uint32_t digit = is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
    number = std::min<uint32_t>(number * (hex ? 16 : 10) + digit, 0x110000);
  }
  if (i == first) return std::nullopt;
  if (i < rest.size() && rest[i] == ';') ++i;
  return Reference{character_of(number), i};
}

bool ends_name(char32_t c) {
  return c == '\t' || c == '\n' || c == '\f' || c == ' ' || c == '<' || c == '&' || c == '#' || c == ';';
}

// The longest known name at the front of what could be one (up to 32 characters and a semicolon).
std::optional<Reference> named_reference(std::u32string_view rest) {
  constexpr size_t kLongest = 32;
  size_t end = 1;
  while (end < rest.size() && end <= kLongest && !ends_name(rest[end])) ++end;
  if (end == 1) return std::nullopt;
  if (end < rest.size() && rest[end] == ';') ++end;
  const std::string candidate = to_utf8(rest.substr(1, end - 1));
  const auto whole = html5_names().find(candidate);
  if (whole != html5_names().end()) return Reference{whole->second, end};
  for (size_t length = end - 2; length > 1; --length) {
    const auto it = html5_names().find(to_utf8(rest.substr(1, length)));
    if (it != html5_names().end()) return Reference{it->second, length + 1};
  }
  return std::nullopt;
}

template <typename Find>
std::u32string replace_references(std::u32string_view text, Find find) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '&') {
      if (const std::optional<Reference> found = find(text.substr(i))) {
        out += found->text;
        i += found->length;
        continue;
      }
    }
    out += text[i++];
  }
  return out;
}

std::u32string upper_case(std::u32string_view text) {
  auto upper = icu::UnicodeString::fromUTF8(to_utf8(text));
  upper.toUpper(icu::Locale::getRoot());
  std::string utf8;
  upper.toUTF8String(utf8);
  return to_utf32(utf8);
}

// Names that end in a semicolon, and upper-case spellings of all-lower-case ones where those mean nothing else.
Names make_careful_names() {
  Names names;
  for (const auto& [name, text] : html5_names()) {
    if (name.back() != ';') continue;
    names.insert_or_assign(name, text);
    std::string upper = name;
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const bool lower_only = std::none_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    const auto reference = U"&" + to_utf32(upper);
    if (lower_only && unescape_html(reference) == reference) names.emplace(upper, upper_case(text));
  }
  return names;
}

// A careful reference: "&", perhaps "#", one to 24 letters and digits, ";".
std::optional<Reference> careful_reference(std::u32string_view rest) {
  static const Names names = make_careful_names();
  constexpr size_t kLongest = 24;
  const size_t first = rest.size() > 1 && rest[1] == '#' ? 2 : 1;
  size_t end = first;
  while (end < rest.size() && end < first + kLongest && is_alphanumeric(rest[end])) ++end;
  if (end == first || end >= rest.size() || rest[end] != ';') return std::nullopt;
  const auto whole = rest.substr(0, end + 1);
  if (first == 2) {
    const auto unescaped = unescape_html(whole);
    if (unescaped.find(U';') != std::u32string::npos) return Reference{std::u32string(whole), whole.size()};
    return Reference{unescaped, whole.size()};
  }
  const auto it = names.find(to_utf8(whole.substr(1)));
  return Reference{it == names.end() ? std::u32string(whole) : it->second, whole.size()};
}

}  // namespace

std::u32string unescape_html(std::u32string_view text) {
  return replace_references(text, [](std::u32string_view rest) {
    return rest.size() > 1 && rest[1] == '#' ? numeric_reference(rest) : named_reference(rest);
  });
}

std::u32string unescape_html_carefully(std::u32string_view text) {
  return replace_references(text, careful_reference);
}

}  // namespace tessera::text
