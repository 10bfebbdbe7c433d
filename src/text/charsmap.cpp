#include "text/charsmap.h"

#include "base/strings.h"
#include "text/unicode.h"

namespace tessera::text {
namespace {

// Fields of a unit of the darts-clone double array (its file format, darts.h of that project).
bool has_leaf(uint32_t unit) {
  return ((unit >> 8) & 1) != 0;
}
uint32_t value_of(uint32_t unit) {
  return unit & 0x7fffffffu;
}
uint32_t label_of(uint32_t unit) {
  return unit & 0x800000ffu;
}
uint32_t offset_of(uint32_t unit) {
  return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

uint32_t read_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

// Longest grapheme, in bytes, that is looked up as a whole.
constexpr size_t kWholeGraphemeBytes = 5;

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view blob) {
  if (blob.size() < 4) return fail(ErrorCode::BadFile, "the precompiled character map is cut off");
  const uint32_t trie_bytes = read_u32(blob, 0);
  if (trie_bytes % 4 != 0 || trie_bytes == 0 || trie_bytes > blob.size() - 4) {
    return fail(ErrorCode::BadFile, strings::join("the precompiled character map says its trie has ", trie_bytes,
                                                  " bytes of ", blob.size() - 4));
  }
  Charsmap map;
  map.units_.reserve(trie_bytes / 4);
  for (size_t at = 4; at < 4 + trie_bytes; at += 4) map.units_.push_back(read_u32(blob, at));
  map.texts_ = blob.substr(4 + trie_bytes);
  if (first_malformed_byte(map.texts_)) {
    return fail(ErrorCode::BadFile, "the precompiled character map has texts that are not UTF-8");
  }
  return map;
}

bool Charsmap::replace(std::string_view chunk, std::string& out) const {
  size_t node = offset_of(units_[0]);
  for (const char c : chunk) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) return false;
    node ^= byte;
    if (node >= units_.size() || label_of(units_[node]) != byte) return false;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_leaf(unit)) continue;
    if (node >= units_.size()) return false;
    const uint32_t begin = value_of(units_[node]);
    if (begin > texts_.size()) return false;
    const auto end = texts_.find('\0', begin);
    out.append(texts_, begin, end == std::string::npos ? std::string::npos : end - begin);
    return true;
  }
  return false;
}

std::string Charsmap::apply(std::string_view utf8) const {
  std::string out;
  out.reserve(utf8.size());
  size_t begin = 0;
  for (const size_t end : grapheme_ends(utf8)) {
    const auto grapheme = utf8.substr(begin, end - begin);
    begin = end;
    if (grapheme.size() <= kWholeGraphemeBytes && replace(grapheme, out)) continue;
    for (size_t i = 0; i < grapheme.size();) {
      const size_t from = i;
      next_code_point(grapheme, i);
      const auto part = grapheme.substr(from, i - from);
      if (!replace(part, out)) out += part;
    }
  }
  return out;
}

Result<std::string> decode_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  int8_t digit_of[256];
  for (int8_t& d : digit_of) d = -1;
  for (size_t i = 0; i < kDigits.size(); ++i) digit_of[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int8_t digit = digit_of[static_cast<unsigned char>(c)];
    if (digit < 0) return fail(ErrorCode::BadFile, "the precompiled character map is not base64");
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>((bits >> count) & 0xff);
  }
  return out;
}

}  // namespace tessera::text
