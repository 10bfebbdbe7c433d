#include "text/added_tokens.h"

#include <algorithm>

#include <unicode/uchar.h>

#include "text/unicode.h"

namespace tessera::text {
namespace {

// \w of the reference: alphabetic, mark, decimal number, connector punctuation, join control.
bool is_word_character(char32_t c) {
  const auto code = static_cast<UChar32>(c);
  return u_hasBinaryProperty(code, UCHAR_ALPHABETIC) || u_hasBinaryProperty(code, UCHAR_JOIN_CONTROL) ||
         (U_GET_GC_MASK(code) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0;
}

size_t previous_begin(std::string_view text, size_t end) {
  --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return end;
}

bool ends_with_word(std::string_view text) {
  if (text.empty()) return false;
  size_t i = previous_begin(text, text.size());
  return is_word_character(next_code_point(text, i));
}

bool starts_with_word(std::string_view text) {
  size_t i = 0;
  return !text.empty() && is_word_character(next_code_point(text, i));
}

size_t without_trailing_space(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t begin = previous_begin(text, end);
    size_t i = begin;
    if (!is_white_space(next_code_point(text, i))) break;
    end = begin;
  }
  return end;
}

size_t leading_space(std::string_view text) {
  size_t end = 0;
  for (size_t i = 0; i < text.size() && is_white_space(next_code_point(text, i)); end = i) {
  }
  return end;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalize& normalize) : tokens_(std::move(tokens)) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const std::string key = tokens_[i].normalized ? normalize(tokens_[i].content) : tokens_[i].content;
    if (key.empty()) continue;
    Keys& keys = tokens_[i].normalized ? normalized_ : raw_;
    keys.by_first_byte[static_cast<unsigned char>(key[0])].emplace_back(key, i);
  }
  for (Keys* keys : {&raw_, &normalized_}) {
    for (auto& bucket : keys->by_first_byte) {
      std::stable_sort(bucket.begin(), bucket.end(),
                       [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    }
  }
}

void AddedTokens::split_one(Section section, const Keys& keys, std::vector<Section>& out) const {
  const std::string_view text = section.text;
  size_t done = 0;
  for (size_t i = 0; i < text.size();) {
    const auto& bucket = keys.by_first_byte[static_cast<unsigned char>(text[i])];
    const auto hit = std::find_if(bucket.begin(), bucket.end(),
                                  [&](const auto& key) { return text.substr(i).starts_with(key.first); });
    if (hit == bucket.end()) {
      ++i;
      continue;
    }
    const AddedToken& token = tokens_[hit->second];
    size_t begin = i;
    size_t end = i + hit->first.size();
    i = end;
    if (token.single_word && (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end)))) continue;
    if (token.lstrip) begin = std::max(without_trailing_space(text.substr(0, begin)), done);
    if (token.rstrip) end += leading_space(text.substr(end));
    if (begin > done) out.push_back({std::string(text.substr(done, begin - done)), {}, section.at_front && done == 0});
    out.push_back({std::string(text.substr(begin, end - begin)), token.id, section.at_front && begin == 0});
    done = end;
    i = std::max(i, end);
  }
  if (done == 0 && !text.empty()) {
    out.push_back(std::move(section));
  } else if (done < text.size()) {
    out.push_back({std::string(text.substr(done)), {}, false});
  }
}

std::vector<Section> AddedTokens::split(std::string text, const Normalize& normalize) const {
  std::vector<Section> raw;
  split_one({std::move(text), {}, true}, raw_, raw);
  std::vector<Section> out;
  for (auto& section : raw) {
    if (section.token) {
      out.push_back(std::move(section));
      continue;
    }
    section.text = normalize(std::move(section.text));
    split_one(std::move(section), normalized_, out);
  }
  return out;
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto it = std::find_if(tokens_.begin(), tokens_.end(), [&](const auto& t) { return t.content == content; });
  return it == tokens_.end() ? nullptr : &*it;
}

const AddedToken* AddedTokens::find(int64_t id) const {
  const auto it = std::find_if(tokens_.begin(), tokens_.end(), [&](const auto& t) { return t.id == id; });
  return it == tokens_.end() ? nullptr : &*it;
}

}  // namespace tessera::text
