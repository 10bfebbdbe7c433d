// Single-byte encodings and lenient UTF-8, for undoing a decoding with the wrong one.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera::text {

/// A single-byte encoding; bytes below 0x80 are ASCII. In a sloppy one unassigned bytes stand for themselves and byte
/// 0x1a for U+FFFD, the mark of a lost character.
struct Encoding {
  std::string_view name;
  bool sloppy;
  std::array<char32_t, 128> upper;  ///< what bytes 0x80 to 0xff mean
};

/// In the order in which they are tried.
std::span<const Encoding> encodings();

/// The bytes that decode to `text`; nothing when a character is not in the encoding.
std::optional<std::string> encode(std::u32string_view text, const Encoding& encoding);

/// Strict UTF-8.
std::optional<std::u32string> decode_utf8(std::string_view bytes);

/// UTF-8 in which NUL may be C0 80 and pairs of surrogates are taken as one character (CESU-8).
std::optional<std::u32string> decode_utf8_variants(std::string_view bytes);

/// Windows-1252; nothing when a byte is unassigned there.
std::optional<std::u32string> decode_windows_1252(std::u32string_view latin1);

/// C1 controls replaced by what their byte means in Windows-1252; the rest is kept.
std::u32string replace_c1_controls(std::u32string_view text);

}  // namespace tessera::text
