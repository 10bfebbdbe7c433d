#include "text/bpe.h"

#include <queue>

#include "base/strings.h"
#include "text/unicode.h"

namespace tessera::text {
namespace {

struct Merge {
  int32_t rank;
  int32_t id;
};

struct PairHash {
  // The finalizer of splitmix64: consecutive ids must not land in consecutive buckets.
  size_t operator()(uint64_t x) const {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
};

using MergeTable = std::unordered_map<uint64_t, Merge, PairHash>;

uint64_t pair_key(int64_t left, int64_t right) {
  return (static_cast<uint64_t>(left) << 32) | static_cast<uint64_t>(right);
}

// One piece of the word while it is merged; a doubly linked list in an array. id < 0: merged away.
struct Symbol {
  int64_t id;
  int32_t previous;
  int32_t next;
};

struct Candidate {
  int32_t rank;
  int32_t position;
  int32_t id;
  bool operator>(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

using Queue = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;

class Bpe final : public TokenModel {
 public:
  Bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options)
      : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {
    if (!options_.unknown_piece.empty()) unknown_ = vocabulary_.id_of(options_.unknown_piece);
  }

  void tokenize(std::string_view word, std::vector<int64_t>& ids) const override {
    if (word.empty()) return;
    if (options_.ignore_merges) {
      if (const auto whole = vocabulary_.id_of(word)) {
        ids.push_back(*whole);
        return;
      }
    }
    std::vector<Symbol> symbols = split(word);
    merge(symbols);
    for (const Symbol& s : symbols) {
      if (s.id >= 0) ids.push_back(s.id);
    }
  }

  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  std::vector<Symbol> split(std::string_view word) const;
  bool add_bytes(std::string_view character, std::vector<int64_t>& ids) const;
  void merge(std::vector<Symbol>& symbols) const;
  void propose(const std::vector<Symbol>& symbols, int32_t left, Queue& queue) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::optional<int64_t> unknown_;
};

bool Bpe::add_bytes(std::string_view character, std::vector<int64_t>& ids) const {
  std::vector<int64_t> found;
  for (const char c : character) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    const auto id = vocabulary_.id_of(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">");
    if (!id) return false;
    found.push_back(*id);
  }
  ids.insert(ids.end(), found.begin(), found.end());
  return true;
}

std::vector<Symbol> Bpe::split(std::string_view word) const {
  std::vector<int64_t> ids;
  bool pending_unknown = false;
  std::string key;
  for (size_t i = 0; i < word.size();) {
    const size_t begin = i;
    next_code_point(word, i);
    key.clear();
    if (begin != 0) key += options_.continuing_prefix;
    key += word.substr(begin, i - begin);
    if (i == word.size()) key += options_.end_of_word_suffix;
    if (const auto id = vocabulary_.id_of(key)) {
      if (pending_unknown) ids.push_back(*unknown_);
      pending_unknown = false;
      ids.push_back(*id);
      continue;
    }
    if (options_.byte_fallback && add_bytes(key, ids)) continue;
    if (!unknown_) continue;
    if (pending_unknown && !options_.fuse_unknown) ids.push_back(*unknown_);
    pending_unknown = true;
  }
  if (pending_unknown) ids.push_back(*unknown_);
  std::vector<Symbol> symbols;
  symbols.reserve(ids.size());
  const auto count = static_cast<int32_t>(ids.size());
  for (int32_t i = 0; i < count; ++i)
    symbols.push_back({ids[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  return symbols;
}

void Bpe::propose(const std::vector<Symbol>& symbols, int32_t left, Queue& queue) const {
  if (left < 0) return;
  const Symbol& s = symbols[static_cast<size_t>(left)];
  if (s.next < 0) return;
  const auto it = merges_.find(pair_key(s.id, symbols[static_cast<size_t>(s.next)].id));
  if (it != merges_.end()) queue.push({it->second.rank, left, it->second.id});
}

void Bpe::merge(std::vector<Symbol>& symbols) const {
  Queue queue;
  for (int32_t i = 0; i + 1 < static_cast<int32_t>(symbols.size()); ++i) propose(symbols, i, queue);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    Symbol& left = symbols[static_cast<size_t>(top.position)];
    if (left.id < 0 || left.next < 0) continue;
    Symbol& right = symbols[static_cast<size_t>(left.next)];
    // A neighbour may have changed since this was proposed.
    const auto it = merges_.find(pair_key(left.id, right.id));
    if (it == merges_.end() || it->second.id != top.id) continue;
    left.id = top.id;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[static_cast<size_t>(left.next)].previous = top.position;
    propose(symbols, left.previous, queue);
    propose(symbols, top.position, queue);
  }
}

}  // namespace

Result<std::unique_ptr<TokenModel>> make_bpe(Vocabulary vocabulary, const Merges& merges, BpeOptions options) {
  MergeTable table;
  table.reserve(merges.size());
  int32_t rank = 0;
  for (const auto& [left, right] : merges) {
    const auto tail = std::string_view(right).starts_with(options.continuing_prefix)
                          ? std::string_view(right).substr(options.continuing_prefix.size())
                          : std::string_view(right);
    const auto left_id = vocabulary.id_of(left);
    const auto right_id = vocabulary.id_of(right);
    const auto merged_id = vocabulary.id_of(left + std::string(tail));
    if (!left_id || !right_id || !merged_id) {
      return fail(ErrorCode::BadFile, strings::join("merge ", rank + 1, " ('", left.substr(0, 40), " ",
                                                    right.substr(0, 40), "') names a piece that the vocabulary lacks"));
    }
    table.insert_or_assign(pair_key(*left_id, *right_id), Merge{rank++, static_cast<int32_t>(*merged_id)});
  }
  return std::make_unique<Bpe>(std::move(vocabulary), std::move(table), std::move(options));
}

}  // namespace tessera::text
