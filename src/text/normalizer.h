// Steps that change the whole text before it is cut into words.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "text/charsmap.h"
#include "text/pattern.h"
#include "text/unicode.h"

namespace tessera::text {

struct LowerCase {};
/// Every run of white space becomes one space (CLIP).
struct CollapseWhiteSpace {};
struct ReplaceText {
  std::string from;
  std::string to;
};
struct ReplacePattern {
  Pattern pattern;
  std::string to;
};
struct Prepend {
  std::string text;  ///< not put before an empty text
};
struct Strip {
  bool left = true;
  bool right = true;
};

using NormalizerStep =
    std::variant<NormalForm, LowerCase, CollapseWhiteSpace, ReplaceText, ReplacePattern, Prepend, Strip, Charsmap>;

/// The text after all steps, in order.
std::string normalize(std::string text, const std::vector<NormalizerStep>& steps);

/// All occurrences of `from`, left to right, replaced by `to`.
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

/// Every run of white space replaced by one space.
std::string collapse_white_space(std::string_view text);

}  // namespace tessera::text
