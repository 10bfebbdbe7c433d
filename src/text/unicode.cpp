#include "text/unicode.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include <unicode/brkiter.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include "base/check.h"
#include "base/strings.h"

namespace tessera::text {
namespace {

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

const icu::Normalizer2* normalizer(NormalForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* found = nullptr;
  switch (form) {
    case NormalForm::Nfc:
      found = icu::Normalizer2::getNFCInstance(status);
      break;
    case NormalForm::Nfd:
      found = icu::Normalizer2::getNFDInstance(status);
      break;
    case NormalForm::Nfkc:
      found = icu::Normalizer2::getNFKCInstance(status);
      break;
    case NormalForm::Nfkd:
      found = icu::Normalizer2::getNFKDInstance(status);
      break;
  }
  TESSERA_CHECK(U_SUCCESS(status), "ICU has no normalization data: ", u_errorName(status));
  return found;
}

struct Range {
  char32_t first;
  char32_t last;
};

// Letters and numbers of Unicode 15.1 and 16, which the reference knows and ICU 72 (Unicode 15) does not.
constexpr Range kNewLetters[] = {{0x1c89, 0x1c8a},   {0xa7cb, 0xa7cd},   {0xa7da, 0xa7dc},   {0x105c0, 0x105f3},
                                 {0x10d4a, 0x10d65}, {0x10d6f, 0x10d85}, {0x10ec2, 0x10ec4}, {0x11380, 0x11389},
                                 {0x1138b, 0x1138b}, {0x1138e, 0x1138e}, {0x11390, 0x113b5}, {0x113b7, 0x113b7},
                                 {0x113d1, 0x113d1}, {0x113d3, 0x113d3}, {0x11bc0, 0x11be0}, {0x13460, 0x143fa},
                                 {0x16100, 0x1611d}, {0x16d40, 0x16d6c}, {0x18cff, 0x18cff}, {0x1e5d0, 0x1e5ed},
                                 {0x1e5f0, 0x1e5f0}, {0x2ebf0, 0x2ee5d}};
constexpr Range kNewNumbers[] = {{0x10d40, 0x10d49}, {0x116d0, 0x116e3}, {0x11bf0, 0x11bf9}, {0x16130, 0x16139},
                                 {0x16d70, 0x16d79}, {0x1ccf0, 0x1ccf9}, {0x1e5f1, 0x1e5fa}};

template <size_t N>
bool is_in(char32_t c, const Range (&ranges)[N]) {
  if (c < ranges[0].first || c > ranges[N - 1].last) return false;
  return std::any_of(std::begin(ranges), std::end(ranges), [c](Range r) { return c >= r.first && c <= r.last; });
}

}  // namespace

std::optional<size_t> first_malformed_byte(std::string_view utf8) {
  const auto size = static_cast<int64_t>(utf8.size());
  for (int64_t i = 0; i < size;) {
    const int64_t begin = i;
    UChar32 c = 0;
    U8_NEXT(reinterpret_cast<const uint8_t*>(utf8.data()), i, size, c);
    if (c < 0) return static_cast<size_t>(begin);
  }
  return std::nullopt;
}

Status check_utf8(std::string_view text) {
  const auto bad = first_malformed_byte(text);
  if (!bad) return {};
  const int value = static_cast<unsigned char>(text[*bad]);
  return fail(ErrorCode::Usage, strings::join("the text is not UTF-8 (byte ", *bad, " is ", value, ")"),
              "save or send it as UTF-8");
}

char32_t next_code_point(std::string_view utf8, size_t& position) {
  UChar32 c = 0;
  U8_NEXT_UNSAFE(reinterpret_cast<const uint8_t*>(utf8.data()), position, c);
  return static_cast<char32_t>(c);
}

void append_utf8(std::string& out, char32_t c) {
  uint8_t bytes[4];
  int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, static_cast<UChar32>(c));
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
}

std::u32string to_utf32(std::string_view utf8) {
  std::u32string out;
  out.reserve(utf8.size());
  for (size_t i = 0; i < utf8.size();) out += next_code_point(utf8, i);
  return out;
}

std::string to_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) append_utf8(out, c);
  return out;
}

bool is_letter(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_L_MASK) != 0 || is_in(c, kNewLetters);
}

bool is_number(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_N_MASK) != 0 || is_in(c, kNewNumbers);
}

bool is_white_space(char32_t c) {
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}

std::string normal_form(std::string_view utf8, NormalForm form) {
  if (is_ascii(utf8)) return std::string(utf8);
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  UErrorCode status = U_ZERO_ERROR;
  const icu::StringPiece source(utf8.data(), static_cast<int32_t>(utf8.size()));
  normalizer(form)->normalizeUTF8(0, source, sink, nullptr, status);
  TESSERA_CHECK(U_SUCCESS(status), "ICU cannot normalize: ", u_errorName(status));
  return out;
}

std::string lower_case(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  for (size_t i = 0; i < utf8.size();) {
    const char32_t c = next_code_point(utf8, i);
    append_utf8(out, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
    // The one character whose lower case is two: dotted capital I keeps its dot (SpecialCasing.txt).
    if (c == 0x130) append_utf8(out, 0x307);
  }
  return out;
}

std::vector<size_t> grapheme_ends(std::string_view utf8) {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::BreakIterator> clusters(
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
  UText source = UTEXT_INITIALIZER;
  utext_openUTF8(&source, utf8.data(), static_cast<int64_t>(utf8.size()), &status);
  if (U_SUCCESS(status)) clusters->setText(&source, status);
  TESSERA_CHECK(U_SUCCESS(status), "ICU cannot find character boundaries: ", u_errorName(status));
  std::vector<size_t> ends;
  for (int32_t end = clusters->next(); end != icu::BreakIterator::DONE; end = clusters->next()) {
    ends.push_back(static_cast<size_t>(end));
  }
  utext_close(&source);
  return ends;
}

}  // namespace tessera::text
