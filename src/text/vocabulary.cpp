#include "text/vocabulary.h"

#include <algorithm>

#include "base/strings.h"

namespace tessera::text {
namespace {

// The largest published vocabularies have some 260 000 pieces; a table of this length stays under 200 MB.
constexpr int64_t kIdLimit = 8'000'000;

}  // namespace

Result<Vocabulary> Vocabulary::make(const std::vector<std::pair<std::string, int64_t>>& entries) {
  Vocabulary out;
  size_t total = 0;
  int64_t largest = -1;
  for (const auto& [piece, id] : entries) {
    if (id < 0 || id >= kIdLimit) {
      return fail(ErrorCode::BadFile, strings::join("piece '", piece.substr(0, 40), "' has the id ", id));
    }
    total += piece.size();
    largest = std::max(largest, id);
  }
  out.bytes_.reserve(total + 1);
  out.ids_.reserve(entries.size());
  out.pieces_.resize(static_cast<size_t>(largest + 1));
  for (const auto& [piece, id] : entries) {
    const size_t begin = out.bytes_.size();
    out.bytes_.insert(out.bytes_.end(), piece.begin(), piece.end());
    const std::string_view view(out.bytes_.data() + begin, piece.size());
    out.ids_.insert_or_assign(view, static_cast<int32_t>(id));
    out.pieces_[static_cast<size_t>(id)] = view;
  }
  return out;
}

std::optional<int64_t> Vocabulary::id_of(std::string_view piece) const {
  const auto it = ids_.find(piece);
  if (it == ids_.end()) return std::nullopt;
  return it->second;
}

std::string_view Vocabulary::piece(int64_t id) const {
  if (id < 0 || id >= static_cast<int64_t>(pieces_.size())) return {};
  return pieces_[static_cast<size_t>(id)];
}

}  // namespace tessera::text
