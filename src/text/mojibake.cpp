// The judgement part of mojibake.h. Categories and the sequences that count as bad are those of ftfy 6.3.1
// (Robyn Speer, Apache-2.0; the reference cleans prompts with it), here as a table of character sets.
#include "text/mojibake.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "text/unicode.h"

namespace tessera::text {
namespace {

// The first bits are those of tables/mojibake.inc, the last four are worked out here.
constexpr uint32_t kCommon = 1u << 0;
constexpr uint32_t kC1 = 1u << 1;
constexpr uint32_t kBad = 1u << 2;
constexpr uint32_t kLaw = 1u << 3;
constexpr uint32_t kCurrency = 1u << 4;
constexpr uint32_t kStart = 1u << 5;
constexpr uint32_t kEnd = 1u << 6;
constexpr uint32_t kNumeric = 1u << 7;
constexpr uint32_t kKaomoji = 1u << 8;
constexpr uint32_t kUpperAccented = 1u << 9;
constexpr uint32_t kLowerAccented = 1u << 10;
constexpr uint32_t kUpperCommon = 1u << 11;
constexpr uint32_t kLowerCommon = 1u << 12;
constexpr uint32_t kBox = 1u << 13;
constexpr uint32_t kFirstOf2 = 1u << 14;
constexpr uint32_t kFirstOf3 = 1u << 15;
constexpr uint32_t kFirstOf4 = 1u << 16;
constexpr uint32_t kContinuation = 1u << 17;
constexpr uint32_t kContinuationStrict = 1u << 18;
constexpr uint32_t kLower = 1u << 19;  // a-z
constexpr uint32_t kUpper = 1u << 20;  // A-Z
constexpr uint32_t kSpace = 1u << 21;
constexpr uint32_t kWord = 1u << 22;
constexpr uint32_t kNotLatin = 1u << 23;  // anything but a-z and A-Z
constexpr uint32_t kNotNewline = 1u << 24;
constexpr uint32_t kAccented = kLowerAccented | kUpperAccented;

struct CategoryRange {
  char32_t first;
  char32_t last;
  uint32_t mask;
};

constexpr CategoryRange kRanges[] = {
#include "text/tables/mojibake.inc"
};

uint32_t categories_of(char32_t c) {
  const auto* it = std::upper_bound(std::begin(kRanges), std::end(kRanges), c,
                                    [](char32_t value, const CategoryRange& r) { return value < r.first; });
  uint32_t mask = it != std::begin(kRanges) && c <= (it - 1)->last ? (it - 1)->mask : 0;
  const bool lower = c >= 'a' && c <= 'z';
  const bool upper = c >= 'A' && c <= 'Z';
  mask |= lower ? kLower : 0;
  mask |= upper ? kUpper : 0;
  mask |= !lower && !upper ? kNotLatin : 0;
  mask |= c != '\n' ? kNotNewline : 0;
  mask |= is_white_space(c) || (c >= 0x1c && c <= 0x1f) ? kSpace : 0;
  mask |= c == '_' || is_letter(c) || is_number(c) ? kWord : 0;
  return mask;
}

// A set of characters: some categories and some single ones.
struct Set {
  uint32_t categories = 0;
  std::u32string_view characters = {};
};

using Sequence = std::array<Set, 5>;  // unused places at the end are empty

constexpr uint32_t kSides = kAccented | kBox | kStart | kEnd | kCurrency | kNumeric | kLaw;
constexpr uint32_t kBetweenLetters = kC1 | kBad | kStart | kEnd | kCurrency;
constexpr uint32_t kArabicSecond = kCommon | kCurrency | kBad | kNumeric | kStart;
constexpr std::u32string_view kArabicSingles = U"ŸŠ®°µ»";

// Windows-1252 unless another encoding is named.
constexpr Sequence kBadSequences[] = {
    {Set{kC1}},
    {Set{kBad | kSides}, Set{kBad}},
    {Set{kLower | kUpper}, Set{kLowerCommon | kUpperCommon}, Set{kBad}},
    {Set{kBad}, Set{kSides}},
    {Set{kLowerAccented | kLowerCommon | kBox | kEnd | kCurrency | kNumeric}, Set{kUpperAccented}},
    {Set{kBox | kEnd | kCurrency | kNumeric}, Set{kLowerAccented}},
    {Set{kLowerAccented | kBox | kEnd}, Set{kCurrency}},
    {Set{kSpace}, Set{kUpperAccented}, Set{kCurrency}},
    {Set{kUpperAccented | kBox}, Set{kNumeric | kLaw}},
    {Set{kAccented | kBox | kCurrency | kEnd}, Set{kStart}, Set{kNumeric}},
    {Set{kAccented | kCurrency | kNumeric | kBox | kLaw}, Set{kEnd}, Set{kStart}},
    {Set{kCurrency | kNumeric | kBox}, Set{kStart}},
    {Set{kLower}, Set{kUpperAccented}, Set{kStart | kCurrency}},
    {Set{kBox}, Set{kKaomoji}},
    {Set{kAccented | kCurrency | kNumeric | kStart | kEnd | kLaw}, Set{kBox}},
    {Set{kBox}, Set{kEnd}},
    {Set{kAccented}, Set{kStart | kEnd}, Set{kWord}},
    // œ before anything but a Latin letter; a degree sign after a capital
    {Set{0, U"Œœ"}, Set{kNotLatin}},
    {Set{kUpperAccented}, Set{0, U"°"}},
    // two characters of European letters
    {Set{0, U"ÂÃÎÐ"}, Set{kStart | kEnd, U"€œŠš¢£Ÿž\u00a0\u00ad®©°·»–—´"}},
    {Set{0, U"×"}, Set{0, U"²³"}},
    // Arabic: two letters in a row, since single ones are common
    {Set{0, U"ØÙ"}, Set{kArabicSecond, kArabicSingles}, Set{0, U"ØÙ"}, Set{kArabicSecond, kArabicSingles}},
    // South Asian alphabets
    {Set{0, U"à"}, Set{0, U"²µ¹¼½¾"}},
    // MacRoman
    {Set{0, U"√"}, Set{0, U"±∂†≠®™´≤≥¥µø"}},
    {Set{0, U"≈"}, Set{0, U"°¢"}},
    {Set{0, U"‚"}, Set{0, U"Ä"}, Set{0, U"ìîïòôúùû†°¢π"}},
    {Set{0, U"‚"}, Set{0, U"âó"}, Set{0, U"àä°ê"}},
    // Windows-1251
    {Set{0, U"в"}, Set{0, U"Ђ"}},
    {Set{0, U"ВГРС"}, Set{kBetweenLetters, U"°µ"}, Set{0, U"ВГРС"}},
    {Set{0, U"Г"}, Set{0, U"ў"}, Set{0, U"В"}, Set{0, U"Ђ"}, Set{0, U"В"}},  // and two more, see below
    // à, á and the no-break space
    {Set{0, U"Ã"}, Set{0, U"\u00a0¡"}},
    {Set{kLower}, Set{kSpace}, Set{0, U"ÃÂ"}, Set{0, U" "}},
    {Set{kLower}, Set{0, U"ÃÂ"}, Set{0, U" "}},
    // Â before a character that stands for itself
    {Set{kLower | kEnd, U".,?!"}, Set{0, U"Â"}, Set{kStart | kEnd, U" "}},
    // Windows-1253
    {Set{0, U"β"}, Set{0, U"€"}, Set{0, U"™\u00a0Ά\u00ad®°"}},
    {Set{0, U"ΒΓΞΟ"}, Set{kBetweenLetters, U"°"}, Set{0, U"ΒΓΞΟ"}},
    // Windows-1257
    {Set{0, U"ā"}, Set{0, U"€"}},
};

bool is_in(char32_t c, uint32_t categories, const Set& set) {
  return (categories & set.categories) != 0 || set.characters.find(c) != std::u32string_view::npos;
}

// The text with the categories of each character.
struct Categorized {
  std::u32string_view text;
  std::vector<uint32_t> masks;

  explicit Categorized(std::u32string_view t) : text(t), masks(t.size()) {
    std::transform(t.begin(), t.end(), masks.begin(), categories_of);
  }
  bool matches(size_t i, const Set& set) const { return i < text.size() && is_in(text[i], masks[i], set); }
};

bool sequence_at(const Categorized& text, size_t i, const Sequence& sequence) {
  for (const Set& set : sequence) {
    if (set.categories == 0 && set.characters.empty()) return true;
    if (!text.matches(i++, set)) return false;
  }
  // The one full sequence is Windows-1251 on top of Latin-1 on top of Windows-1252; it needs Latin text beside it.
  return text.matches(i, {kNotNewline}) && text.matches(i + 1, {kLower | kUpper, U" "});
}

bool bad_at_front(std::u32string_view text) {
  return text.size() > 1 && (text[0] == U'Ã' || text[0] == U'Â') && text[1] == U' ';
}

}  // namespace

bool looks_misdecoded(std::u32string_view text) {
  if (bad_at_front(text)) return true;
  const Categorized categorized(text);
  for (size_t i = 0; i < text.size(); ++i) {
    for (const Sequence& sequence : kBadSequences) {
      if (sequence_at(categorized, i, sequence)) return true;
    }
  }
  return false;
}

std::vector<std::pair<size_t, size_t>> find_misread_utf8(std::u32string_view text) {
  const Categorized categorized(text);
  const auto character_end = [&](size_t i) {
    const size_t continuations = categorized.matches(i, {kFirstOf2})   ? 1
                                 : categorized.matches(i, {kFirstOf3}) ? 2
                                 : categorized.matches(i, {kFirstOf4}) ? 3
                                                                       : 0;
    if (continuations == 0) return i;
    for (size_t k = 1; k <= continuations; ++k) {
      if (!categorized.matches(i + k, {kContinuation})) return i;
    }
    return i + 1 + continuations;
  };
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    if (i == 0 || !categorized.matches(i - 1, {kContinuationStrict})) {
      for (size_t next = i; (next = character_end(end)) > end;) end = next;
    }
    if (end > i) found.emplace_back(i, end);
    i = std::max(end, i + 1);
  }
  return found;
}

}  // namespace tessera::text
