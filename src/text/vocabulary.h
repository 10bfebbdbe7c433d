// Pieces and their ids, for the BPE and unigram models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tessera::text {

class Vocabulary {
 public:
  /// Of equal pieces the last one counts. Errors: BadFile for an id that is negative or beyond any known vocabulary.
  static Result<Vocabulary> make(const std::vector<std::pair<std::string, int64_t>>& entries);

  std::optional<int64_t> id_of(std::string_view piece) const;
  /// The piece of an id; empty when the id has none.
  std::string_view piece(int64_t id) const;
  /// Number of pieces.
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }

 private:
  std::vector<char> bytes_;  // a vector, since the views below must survive a move
  std::unordered_map<std::string_view, int32_t> ids_;
  std::vector<std::string_view> pieces_;
};

}  // namespace tessera::text
