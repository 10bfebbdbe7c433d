// Regular expressions of tokenizer.json, run by ICU. The patterns of well-known classes have hand-written code instead.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tessera::text {

class Pattern {
 public:
  /// Errors: BadFile when ICU does not understand the expression.
  static Result<Pattern> compile(const std::string& expression);

  /// Byte ranges [begin, end) of the matches, left to right; empty matches are left out.
  std::vector<std::pair<size_t, size_t>> find_all(std::string_view utf8) const;

  std::string replace_all(std::string_view utf8, std::string_view replacement) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;  // shared: patterns are immutable and are copied with their tokenizer
};

}  // namespace tessera::text
