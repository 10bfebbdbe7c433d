#include "text/pre_tokenizer.h"

#include <array>
#include <unordered_map>

#include "text/normalizer.h"
#include "text/unicode.h"
#include "text/words.h"

namespace tessera::text {
namespace {

using Words = std::vector<std::string>;

void append(Words& out, const std::vector<std::string_view>& words) {
  for (const auto w : words) out.emplace_back(w);
}

// Latin-1's printable characters stand for themselves, the other bytes take U+0100 upwards in their order.
std::array<std::string, 256> make_byte_characters() {
  std::array<std::string, 256> table;
  char32_t next = 256;
  for (unsigned b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    append_utf8(table[b], printable ? b : next++);
  }
  return table;
}

const std::array<std::string, 256>& byte_characters() {
  static const auto table = make_byte_characters();
  return table;
}

void split_before_marks(std::string_view word, std::string_view mark, Words& out) {
  size_t begin = 0;
  while (begin < word.size()) {
    const size_t end =
        std::min(word.find(mark, begin + (word.substr(begin).starts_with(mark) ? mark.size() : 0)), word.size());
    out.emplace_back(word.substr(begin, end - begin));
    begin = end;
  }
}

void split_metaspace(const std::string& word, const Metaspace& step, bool at_front, Words& out) {
  std::string marked = replace_all(word, " ", step.mark);
  const bool wanted = step.front == Metaspace::Front::Always || (step.front == Metaspace::Front::First && at_front);
  if (wanted && !marked.starts_with(step.mark)) marked.insert(0, step.mark);
  if (step.split) {
    split_before_marks(marked, step.mark, out);
  } else {
    out.push_back(std::move(marked));
  }
}

struct Piece {
  std::string text;
  bool match;
};

std::vector<Piece> cut(std::string_view word, const SplitAt& step) {
  std::vector<Piece> pieces;
  size_t done = 0;
  for (const auto& [begin, end] : step.pattern.find_all(word)) {
    if (begin > done) pieces.push_back({std::string(word.substr(done, begin - done)), step.invert});
    pieces.push_back({std::string(word.substr(begin, end - begin)), !step.invert});
    done = end;
  }
  if (done < word.size()) pieces.push_back({std::string(word.substr(done)), step.invert});
  return pieces;
}

void split_at(std::string_view word, const SplitAt& step, Words& out) {
  using enum SplitAt::Behavior;
  bool previous_match = false;
  bool first = true;
  for (auto& piece : cut(word, step)) {
    const bool joins = (step.behavior == MergedWithPrevious && piece.match && !previous_match) ||
                       (step.behavior == MergedWithNext && previous_match && !piece.match) ||
                       (step.behavior == Contiguous && previous_match == piece.match);
    if (!(step.behavior == Removed && piece.match)) {
      if (joins && !first) {
        out.back() += piece.text;
      } else {
        out.push_back(std::move(piece.text));
      }
      first = false;
    }
    previous_match = piece.match;
  }
}

struct Split {
  const std::string& word;
  bool at_front;
  Words& out;

  void operator()(const QwenWords&) const { append(out, qwen_words(word)); }
  void operator()(const ClipWords&) const { append(out, clip_words(word)); }
  void operator()(const WhiteSpaceSplit&) const { append(out, words_between_white_space(word)); }
  void operator()(const Metaspace& step) const { split_metaspace(word, step, at_front, out); }
  void operator()(const ByteLevel& step) const {
    std::string mapped;
    mapped.reserve(word.size() * 2);
    if (step.add_prefix_space && !word.starts_with(' ')) mapped += byte_character(' ');
    for (const char c : word) mapped += byte_character(static_cast<unsigned char>(c));
    out.push_back(std::move(mapped));
  }
  void operator()(const SplitAt& step) const { split_at(word, step, out); }
};

}  // namespace

std::vector<std::string> pre_tokenize(std::string text, const std::vector<PreTokenizerStep>& steps, bool at_front) {
  Words words;
  if (!text.empty()) words.push_back(std::move(text));
  for (const auto& step : steps) {
    Words next;
    for (size_t i = 0; i < words.size(); ++i) std::visit(Split{words[i], at_front && i == 0, next}, step);
    std::erase_if(next, [](const std::string& w) { return w.empty(); });
    words = std::move(next);
  }
  return words;
}

const std::string& byte_character(unsigned char byte) {
  return byte_characters()[byte];
}

std::string bytes_of_characters(std::string_view utf8) {
  static const auto bytes = [] {
    std::unordered_map<std::string_view, char> table;
    for (size_t b = 0; b < 256; ++b) table.emplace(byte_characters()[b], static_cast<char>(b));
    return table;
  }();
  std::string out;
  for (size_t i = 0; i < utf8.size();) {
    const size_t from = i;
    next_code_point(utf8, i);
    const auto character = utf8.substr(from, i - from);
    const auto it = bytes.find(character);
    if (it != bytes.end()) {
      out += it->second;
    } else {
      out += character;
    }
  }
  return out;
}

}  // namespace tessera::text
