#include "text/encodings.h"

#include <algorithm>

#include "text/unicode.h"

namespace tessera::text {
namespace {

constexpr Encoding kEncodings[] = {
#include "text/tables/encodings.inc"
};
constexpr const Encoding& kSloppyWindows1252 = kEncodings[1];
static_assert(kSloppyWindows1252.name == "sloppy-windows-1252");

constexpr char32_t kReplacement = 0xfffd;
constexpr char kSubstitute = 0x1a;

std::optional<char> encode_one(char32_t c, const Encoding& encoding) {
  if (encoding.sloppy && c == kReplacement) return kSubstitute;
  if (c < 0x80) {
    if (encoding.sloppy && c == static_cast<char32_t>(kSubstitute)) return std::nullopt;
    return static_cast<char>(c);
  }
  const auto it = std::find(encoding.upper.begin(), encoding.upper.end(), c);
  if (it == encoding.upper.end()) return std::nullopt;
  return static_cast<char>(0x80 + (it - encoding.upper.begin()));
}

unsigned byte_at(std::string_view bytes, size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

bool is_between(unsigned value, unsigned first, unsigned last) {
  return value >= first && value <= last;
}

// Six bytes of CESU-8 at `i`: a high and a low surrogate, each written as three bytes.
bool is_surrogate_pair(std::string_view bytes, size_t i) {
  return i + 6 <= bytes.size() && byte_at(bytes, i) == 0xed && is_between(byte_at(bytes, i + 1), 0xa0, 0xaf) &&
         is_between(byte_at(bytes, i + 2), 0x80, 0xbf) && byte_at(bytes, i + 3) == 0xed &&
         is_between(byte_at(bytes, i + 4), 0xb0, 0xbf) && is_between(byte_at(bytes, i + 5), 0x80, 0xbf);
}

char32_t pair_code_point(std::string_view bytes, size_t i) {
  return ((byte_at(bytes, i + 1) & 0x0f) << 16) + ((byte_at(bytes, i + 2) & 0x3f) << 10) +
         ((byte_at(bytes, i + 4) & 0x0f) << 6) + (byte_at(bytes, i + 5) & 0x3f) + 0x10000;
}

}  // namespace

std::span<const Encoding> encodings() {
  return kEncodings;
}

std::optional<std::string> encode(std::u32string_view text, const Encoding& encoding) {
  std::string bytes;
  bytes.reserve(text.size());
  for (const char32_t c : text) {
    const auto byte = encode_one(c, encoding);
    if (!byte) return std::nullopt;
    bytes += *byte;
  }
  return bytes;
}

std::optional<std::u32string> decode_utf8(std::string_view bytes) {
  if (first_malformed_byte(bytes)) return std::nullopt;
  return to_utf32(bytes);
}

std::optional<std::u32string> decode_utf8_variants(std::string_view bytes) {
  std::u32string out;
  size_t done = 0;
  const auto take_plain = [&](size_t end) {
    const auto plain = decode_utf8(bytes.substr(done, end - done));
    if (plain) out += *plain;
    return plain.has_value();
  };
  for (size_t i = 0; i < bytes.size();) {
    const bool nul = byte_at(bytes, i) == 0xc0 && i + 1 < bytes.size() && byte_at(bytes, i + 1) == 0x80;
    const bool pair = is_surrogate_pair(bytes, i);
    if (!nul && !pair) {
      ++i;
      continue;
    }
    if (!take_plain(i)) return std::nullopt;
    out += nul ? U'\0' : pair_code_point(bytes, i);
    done = i += nul ? 2 : 6;
  }
  if (!take_plain(bytes.size())) return std::nullopt;
  return out;
}

std::optional<std::u32string> decode_windows_1252(std::u32string_view latin1) {
  for (const char32_t c : latin1) {
    const bool unassigned = c == 0x81 || c == 0x8d || c == 0x8f || c == 0x90 || c == 0x9d;
    if (unassigned || c > 0xff) return std::nullopt;
  }
  return replace_c1_controls(latin1);
}

std::u32string replace_c1_controls(std::u32string_view text) {
  std::u32string out(text);
  for (char32_t& c : out) {
    if (c >= 0x80 && c <= 0x9f) c = kSloppyWindows1252.upper[c - 0x80];
  }
  return out;
}

}  // namespace tessera::text
