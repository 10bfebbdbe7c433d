// The repairing part of mojibake.h.
#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "text/encodings.h"
#include "text/mojibake.h"

namespace tessera::text {
namespace {

// A set of bytes as pairs of first and last.
using Bytes = std::string_view;
// A sequence of such sets, up to six; unused places are empty.
using ByteSequence = std::array<Bytes, 6>;

bool is_in(char c, Bytes ranges) {
  const auto byte = static_cast<unsigned char>(c);
  for (size_t i = 0; i + 1 < ranges.size(); i += 2) {
    if (byte >= static_cast<unsigned char>(ranges[i]) && byte <= static_cast<unsigned char>(ranges[i + 1])) return true;
  }
  return false;
}

// Length of the first sequence of the table that stands at `i`, 0 for none.
size_t sequence_length(std::string_view bytes, size_t i, std::span<const ByteSequence> table) {
  for (const ByteSequence& sequence : table) {
    size_t length = 0;
    while (length < sequence.size() && !sequence[length].empty() && i + length < bytes.size() &&
           is_in(bytes[i + length], sequence[length])) {
      ++length;
    }
    if (length == sequence.size() || sequence[length].empty()) return length;
  }
  return 0;
}

template <typename Replace>
std::string replace_sequences(std::string_view bytes, std::span<const ByteSequence> table, Replace replace) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t i = 0; i < bytes.size();) {
    const size_t length = sequence_length(bytes, i, table);
    if (length == 0) {
      out += bytes[i++];
      continue;
    }
    out += replace(bytes.substr(i, length));
    i += length;
  }
  return out;
}

constexpr Bytes kSpace("  ", 2);
constexpr Bytes kNext("\x80\xbf", 2);
// Continuation bytes but for 85 and a0, which are white space themselves.
constexpr Bytes kNextNoSpace("\x80\x84\x86\x9f\xa1\xbf", 6);
constexpr Bytes kF0("\xf0\xf0", 2);

// UTF-8 in which a byte a0 has become a space.
constexpr ByteSequence kSpacedUtf8[] = {
    {Bytes("\xc2\xc3\xc5\xc5\xce\xce\xd0\xd0\xd9\xd9", 10), kSpace},
    {Bytes("\xe2\xe3", 2), kSpace, kNextNoSpace},
    {Bytes("\xe0\xe3", 2), kNextNoSpace, kSpace},
    {kF0, kSpace, kNext, kNext},
    {kF0, kNext, kSpace, kNext},
    {kF0, kNext, kNext, kSpace},
};

constexpr Bytes kLost("\x1a\x1a??", 4);
constexpr Bytes kNextOrLost("\x1a\x1a\x80\xbf", 4);
constexpr Bytes kNextOrAnyLost("\x1a\x1a??\x80\xbf", 6);
constexpr Bytes kThree("\xe0\xef", 2);
constexpr Bytes kFour("\xf0\xf4", 2);
constexpr Bytes kEd("\xed\xed", 2);
constexpr Bytes kHigh("\xa0\xaf", 2);
constexpr Bytes kLow("\xb0\xbf", 2);

// UTF-8 in which a byte was lost: 1a stands for U+FFFD in a sloppy encoding, and "?" may.
constexpr ByteSequence kLossyUtf8[] = {
    {Bytes("\xc2\xdf", 2), Bytes("\x1a\x1a", 2)},
    {Bytes("\xc2\xc3", 2), Bytes("??", 2)},
    {kEd, kHigh, kLost, kEd, kLow, kNextOrAnyLost},
    {kEd, kHigh, kNextOrAnyLost, kEd, kLow, kLost},
    {kThree, kLost, kNextOrLost},
    {kThree, kNextOrLost, kLost},
    {kFour, kLost, kNextOrLost, kNextOrLost},
    {kFour, kNextOrLost, kLost, kNextOrLost},
    {kFour, kNextOrLost, kNextOrLost, kLost},
    {Bytes("\x1a\x1a", 2)},
};

bool has_spaced_utf8(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (sequence_length(bytes, i, kSpacedUtf8) != 0) return true;
  }
  return false;
}

// "c3 20" is mostly the word "à", then the space stays; not before a further space or where Portuguese joins the words.
std::string restore_a_grave(std::string_view bytes) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    out += bytes[i];
    if (bytes[i] != '\xc3' || i + 1 >= bytes.size() || bytes[i + 1] != ' ') continue;
    const auto rest = bytes.substr(i + 2);
    const bool joined = rest.starts_with(' ') || rest.starts_with("quele") || rest.starts_with("quela") ||
                        rest.starts_with("quilo") || rest.starts_with("s ");
    if (!joined) out += '\xa0';
  }
  return out;
}

std::string restore_byte_a0(std::string_view bytes) {
  return replace_sequences(restore_a_grave(bytes), kSpacedUtf8, [](std::string_view found) {
    std::string fixed(found);
    std::replace(fixed.begin(), fixed.end(), ' ', '\xa0');
    return fixed;
  });
}

// Takes the text for UTF-8 that was read in this encoding; nothing when it was not.
std::optional<std::u32string> undo(std::u32string_view text, const Encoding& encoding) {
  auto bytes = encode(text, encoding);
  if (!bytes) return std::nullopt;
  // In MacRoman the sequences look like an en dash with a space.
  if (encoding.name != "macroman" && has_spaced_utf8(*bytes)) bytes = restore_byte_a0(*bytes);
  if (encoding.sloppy) {
    bytes = replace_sequences(*bytes, kLossyUtf8, [](std::string_view) { return std::string("\xef\xbf\xbd"); });
  }
  const bool variants = bytes->find('\xed') != std::string::npos || bytes->find('\xc0') != std::string::npos;
  return variants ? decode_utf8_variants(*bytes) : decode_utf8(*bytes);
}

// Repairs stretches of mis-read UTF-8 inside text that is right elsewhere.
std::u32string fix_parts(std::u32string_view text) {
  std::u32string out;
  size_t done = 0;
  for (const auto& [begin, end] : find_misread_utf8(text)) {
    out += text.substr(done, begin - done);
    const auto part = text.substr(begin, end - begin);
    const bool repair = part.size() < text.size() && looks_misdecoded(part);
    out += repair ? fix_encoding(std::u32string(part)) : std::u32string(part);
    done = end;
  }
  out += text.substr(done);
  return out;
}

bool is_ascii(std::u32string_view text) {
  return std::all_of(text.begin(), text.end(), [](char32_t c) { return c < 0x80; });
}

bool has_c1(std::u32string_view text) {
  return std::any_of(text.begin(), text.end(), [](char32_t c) { return c >= 0x80 && c <= 0x9f; });
}

std::u32string fix_one_step(const std::u32string& text) {
  if (is_ascii(text) || !looks_misdecoded(text)) return text;
  for (const Encoding& encoding : encodings()) {
    if (auto fixed = undo(text, encoding)) return *fixed;
  }
  auto fixed = fix_parts(text);
  if (fixed != text) return fixed;
  if (const auto windows = decode_windows_1252(text); windows && *windows != text) return *windows;
  return has_c1(text) ? replace_c1_controls(text) : text;
}

}  // namespace

std::u32string fix_encoding(std::u32string text) {
  while (true) {
    auto fixed = fix_one_step(text);
    if (fixed == text) return text;
    text = std::move(fixed);
  }
}

}  // namespace tessera::text
