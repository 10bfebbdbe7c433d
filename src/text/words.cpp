#include "text/words.h"

#include <array>
#include <string>

#include "text/unicode.h"

namespace tessera::text {
namespace {

enum class Kind { Letter, Number, Space, Other };

Kind kind_of(char32_t c) {
  if (is_letter(c)) return Kind::Letter;
  if (is_number(c)) return Kind::Number;
  return is_white_space(c) ? Kind::Space : Kind::Other;
}

// Walks over one text; all positions are bytes.
struct Cursor {
  std::string_view text;

  bool at_end(size_t i) const { return i >= text.size(); }
  char32_t at(size_t i) const { return next_code_point(text, i); }
  size_t after(size_t i) const {
    next_code_point(text, i);
    return i;
  }
  size_t skip(size_t i, Kind kind) const {
    while (!at_end(i) && kind_of(at(i)) == kind) i = after(i);
    return i;
  }
};

bool is_line_end(char32_t c) {
  return c == '\r' || c == '\n';
}

constexpr std::array<std::u32string_view, 7> kContractions = {U"s", U"t", U"re", U"ve", U"m", U"ll", U"d"};

char32_t fold(char32_t c) {
  if (c == 0x17f) return 's';  // the long s folds to s
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

// End of a contraction that begins with the apostrophe at `i`; `i` itself when there is none.
size_t contraction_end(const Cursor& cursor, size_t i, bool any_case) {
  if (cursor.text[i] != '\'') return i;
  for (const auto letters : kContractions) {
    size_t end = i + 1;
    size_t matched = 0;
    while (matched < letters.size() && !cursor.at_end(end)) {
      const char32_t c = cursor.at(end);
      if ((any_case ? fold(c) : c) != letters[matched]) break;
      end = cursor.after(end);
      ++matched;
    }
    if (matched == letters.size()) return end;
  }
  return i;
}

// White space: up to and with its last line end, else all but the last one before a word, else all of it.
size_t qwen_space_end(const Cursor& cursor, size_t begin) {
  size_t end = begin;
  size_t last = begin;
  size_t after_line_end = begin;
  while (!cursor.at_end(end) && kind_of(cursor.at(end)) == Kind::Space) {
    last = end;
    const bool line_end = is_line_end(cursor.at(end));
    end = cursor.after(end);
    if (line_end) after_line_end = end;
  }
  if (after_line_end > begin) return after_line_end;
  return cursor.at_end(end) || last == begin ? end : last;
}

size_t qwen_word_end(const Cursor& cursor, size_t begin) {
  const size_t contraction = contraction_end(cursor, begin, true);
  if (contraction > begin) return contraction;
  const char32_t c = cursor.at(begin);
  const Kind kind = kind_of(c);
  const size_t second = cursor.after(begin);
  if (kind == Kind::Letter) return cursor.skip(begin, Kind::Letter);
  if (kind == Kind::Number) return second;
  if (!is_line_end(c)) {
    const size_t letters = cursor.skip(second, Kind::Letter);
    if (letters > second) return letters;
  }
  const size_t marks_begin = c == ' ' ? second : begin;
  size_t marks = cursor.skip(marks_begin, Kind::Other);
  if (marks == marks_begin) return qwen_space_end(cursor, begin);
  while (!cursor.at_end(marks) && is_line_end(cursor.at(marks))) marks = cursor.after(marks);
  return marks;
}

size_t clip_word_end(const Cursor& cursor, size_t begin) {
  const size_t contraction = contraction_end(cursor, begin, false);
  if (contraction > begin) return contraction;
  const Kind kind = kind_of(cursor.at(begin));
  return kind == Kind::Number ? cursor.after(begin) : cursor.skip(begin, kind);
}

// "<|", its letters and "|>" of a marker at `begin`; empty when there is none. The reference takes a marker as one word
// and then cuts it in three, so marks that follow it do not join its end.
std::vector<std::string_view> clip_marker(std::string_view rest) {
  for (const std::string_view marker : {"<|startoftext|>", "<|endoftext|>"}) {
    if (!rest.starts_with(marker)) continue;
    return {rest.substr(0, 2), rest.substr(2, marker.size() - 4), rest.substr(marker.size() - 2, 2)};
  }
  return {};
}

}  // namespace

std::vector<std::string_view> qwen_words(std::string_view utf8) {
  std::vector<std::string_view> words;
  const Cursor cursor{utf8};
  for (size_t begin = 0; begin < utf8.size();) {
    const size_t end = qwen_word_end(cursor, begin);
    words.push_back(utf8.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::vector<std::string_view> clip_words(std::string_view utf8) {
  std::vector<std::string_view> words;
  const Cursor cursor{utf8};
  for (size_t begin = 0; (begin = cursor.skip(begin, Kind::Space)) < utf8.size();) {
    if (const auto parts = clip_marker(utf8.substr(begin)); !parts.empty()) {
      words.insert(words.end(), parts.begin(), parts.end());
      begin += parts[0].size() + parts[1].size() + parts[2].size();
      continue;
    }
    const size_t end = clip_word_end(cursor, begin);
    words.push_back(utf8.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::vector<std::string_view> words_between_white_space(std::string_view utf8) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (size_t i = 0; i < utf8.size();) {
    const size_t from = i;
    if (!is_white_space(next_code_point(utf8, i))) continue;
    if (from > begin) words.push_back(utf8.substr(begin, from - begin));
    begin = i;
  }
  if (begin < utf8.size()) words.push_back(utf8.substr(begin));
  return words;
}

}  // namespace tessera::text
