// The precompiled character map of sentencepiece: a double-array trie from byte sequences to replacement texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::text {

class Charsmap {
 public:
  /// Parses the blob: size of the trie in bytes (u32 LE), the trie's units (u32 LE), replacement texts that end in NUL.
  /// Errors: BadFile when it is damaged.
  static Result<Charsmap> parse(std::string_view blob);

  /// The text after the map, grapheme by grapheme. A short grapheme is replaced as a whole by what its shortest
  /// known prefix maps to; that is what the reference (spm_precompiled) does, and ids depend on it.
  std::string apply(std::string_view utf8) const;

 private:
  bool replace(std::string_view chunk, std::string& out) const;

  std::vector<uint32_t> units_;
  std::string texts_;
};

/// Errors: BadFile when `text` is not base64.
Result<std::string> decode_base64(std::string_view text);

}  // namespace tessera::text
