#include "text/unigram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/strings.h"
#include "text/unicode.h"

namespace tessera::text {
namespace {

// sentencepiece's kUnkPenalty: an unknown character costs this much more than the rarest piece.
constexpr double kUnknownPenalty = 10.0;

// A range of the sorted pieces that share their first `depth` bytes.
struct Range {
  const std::string_view* begin;
  const std::string_view* end;
};

// The part of the range whose byte at `depth` is `byte`. Pieces that end at `depth` come first and are left out.
Range narrow(Range range, size_t depth, unsigned char byte) {
  const auto before = [depth](std::string_view piece, int b) {
    return (depth < piece.size() ? static_cast<unsigned char>(piece[depth]) : -1) < b;
  };
  const auto* begin = std::lower_bound(range.begin, range.end, int{byte}, before);
  const auto* end = std::lower_bound(begin, range.end, int{byte} + 1, before);
  return {begin, end};
}

class Unigram final : public TokenModel {
 public:
  Unigram(Vocabulary vocabulary, std::vector<double> scores, int64_t unknown_id)
      : vocabulary_(std::move(vocabulary)), scores_(std::move(scores)), unknown_id_(unknown_id) {
    unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - kUnknownPenalty;
    for (size_t id = 0; id < scores_.size(); ++id) {
      const auto piece = vocabulary_.piece(static_cast<int64_t>(id));
      if (!piece.empty() && vocabulary_.id_of(piece) == static_cast<int64_t>(id)) sorted_.push_back(piece);
    }
    std::sort(sorted_.begin(), sorted_.end());
    ids_.reserve(sorted_.size());
    for (const auto piece : sorted_) ids_.push_back(*vocabulary_.id_of(piece));
    const Range all{sorted_.data(), sorted_.data() + sorted_.size()};
    for (size_t b = 0; b < first_.size(); ++b) first_[b] = narrow(all, 0, static_cast<unsigned char>(b));
  }

  void tokenize(std::string_view word, std::vector<int64_t>& ids) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  // The best way to reach a position: the last piece of the path begins at `from`.
  struct Node {
    int64_t id = -1;
    size_t from = 0;
    double score = 0;
    void offer(int64_t new_id, size_t new_from, double new_score) {
      if (id < 0 || new_score > score) *this = {new_id, new_from, new_score};
    }
  };

  bool extend(std::string_view word, size_t begin, size_t character_bytes, std::vector<Node>& nodes) const;
  int64_t id_or_unknown(std::string_view piece) const { return vocabulary_.id_of(piece).value_or(unknown_id_); }

  Vocabulary vocabulary_;
  std::vector<double> scores_;
  int64_t unknown_id_;
  double unknown_score_ = 0;
  std::vector<std::string_view> sorted_;
  std::vector<int64_t> ids_;
  std::array<Range, 256> first_{};
};

// Offers every piece that begins at `begin`; true if one of them is exactly the character there.
bool Unigram::extend(std::string_view word, size_t begin, size_t character_bytes, std::vector<Node>& nodes) const {
  const double score = nodes[begin].score;
  bool single = false;
  Range range = first_[static_cast<unsigned char>(word[begin])];
  for (size_t depth = 1; range.begin != range.end; ++depth) {
    if (range.begin->size() == depth) {
      const int64_t id = ids_[static_cast<size_t>(range.begin - sorted_.data())];
      nodes[begin + depth].offer(id, begin, score + scores_[static_cast<size_t>(id)]);
      single = single || depth == character_bytes;
    }
    if (begin + depth == word.size()) break;
    range = narrow(range, depth, static_cast<unsigned char>(word[begin + depth]));
  }
  return single;
}

void Unigram::tokenize(std::string_view word, std::vector<int64_t>& ids) const {
  std::vector<Node> nodes(word.size() + 1);
  for (size_t begin = 0; begin < word.size();) {
    size_t next = begin;
    next_code_point(word, next);
    if (!extend(word, begin, next - begin, nodes)) {
      nodes[next].offer(unknown_id_, begin, nodes[begin].score + unknown_score_);
    }
    begin = next;
  }
  const size_t first = ids.size();
  for (size_t end = word.size(); end > 0;) {
    size_t from = nodes[end].from;
    if (nodes[end].id == unknown_id_) {
      while (from > 0 && nodes[from].id == unknown_id_) from = nodes[from].from;
    }
    ids.push_back(id_or_unknown(word.substr(from, end - from)));
    end = from;
  }
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
}

}  // namespace

Result<std::unique_ptr<TokenModel>> make_unigram(const std::vector<std::pair<std::string, double>>& pieces,
                                                 int64_t unknown_id) {
  if (unknown_id < 0 || unknown_id >= static_cast<int64_t>(pieces.size())) {
    return fail(ErrorCode::BadFile,
                strings::join("the unknown piece has id ", unknown_id, " of ", pieces.size(), " pieces"));
  }
  std::vector<std::pair<std::string, int64_t>> entries;
  std::vector<double> scores;
  for (const auto& [piece, score] : pieces) {
    if (!std::isfinite(score)) return fail(ErrorCode::BadFile, "piece '" + piece + "' has no finite score");
    if (first_malformed_byte(piece)) return fail(ErrorCode::BadFile, "a piece is not UTF-8");
    entries.emplace_back(piece, static_cast<int64_t>(entries.size()));
    scores.push_back(score);
  }
  TESSERA_TRY(auto vocabulary, Vocabulary::make(entries));
  return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), unknown_id);
}

}  // namespace tessera::text
