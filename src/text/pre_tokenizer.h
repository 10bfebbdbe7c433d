// Steps that cut the normalized text into the words that the model sees.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "text/pattern.h"

namespace tessera::text {

struct QwenWords {};
struct ClipWords {};
struct WhiteSpaceSplit {};

/// Spaces become `mark` (U+2581), a word gets one in front, words are cut before each mark.
struct Metaspace {
  enum class Front { Always, First, Never };
  std::string mark = "\xe2\x96\x81";
  Front front = Front::Always;
  bool split = true;
};

/// Bytes become printable characters (GPT-2's table).
struct ByteLevel {
  bool add_prefix_space = false;
};

/// Cuts at the matches of a pattern; `behavior` says what becomes of the match itself.
struct SplitAt {
  enum class Behavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };
  Pattern pattern;
  Behavior behavior = Behavior::Isolated;
  bool invert = false;  ///< what does not match is the separator
};

using PreTokenizerStep = std::variant<QwenWords, ClipWords, WhiteSpaceSplit, Metaspace, ByteLevel, SplitAt>;

/// The words of one stretch of text. `at_front`: it is the beginning of the whole text.
std::vector<std::string> pre_tokenize(std::string text, const std::vector<PreTokenizerStep>& steps, bool at_front);

/// The printable character of each byte, in UTF-8.
const std::string& byte_character(unsigned char byte);

/// The bytes behind printable characters; characters outside the table are kept.
std::string bytes_of_characters(std::string_view utf8);

}  // namespace tessera::text
