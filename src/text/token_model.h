// What turns one word into token ids: byte-pair merges or a unigram lattice.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace tessera::text {

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// Appends the ids of one word (valid UTF-8) to `ids`.
  virtual void tokenize(std::string_view word, std::vector<int64_t>& ids) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
};

}  // namespace tessera::text
