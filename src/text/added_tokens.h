// Tokens beside the model's vocabulary ("<|im_start|>", "</s>"): found in the text before anything else is done to it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::text {

struct AddedToken {
  std::string content;
  int64_t id = -1;
  bool single_word = false;  ///< only between characters that are not part of a word
  bool lstrip = false;       ///< takes the white space before it along
  bool rstrip = false;       ///< and after it
  bool normalized = false;   ///< looked for in the normalized text
  bool special = true;
};

/// A stretch of text, or one added token when `token` has an id.
struct Section {
  std::string text;
  std::optional<int64_t> token;
  bool at_front = false;  ///< begins where the whole text begins
};

class AddedTokens {
 public:
  using Normalize = std::function<std::string(std::string)>;

  AddedTokens() = default;
  /// `normalize` is applied to the contents of tokens that are looked for in normalized text.
  AddedTokens(std::vector<AddedToken> tokens, const Normalize& normalize);

  /// The text cut at added tokens; stretches between them are normalized.
  std::vector<Section> split(std::string text, const Normalize& normalize) const;

  const AddedToken* find(std::string_view content) const;
  const AddedToken* find(int64_t id) const;

 private:
  // Keys by their first byte, longest first, so that the leftmost longest match wins.
  struct Keys {
    std::vector<std::pair<std::string, size_t>> by_first_byte[256];
  };
  void split_one(Section section, const Keys& keys, std::vector<Section>& out) const;

  std::vector<AddedToken> tokens_;
  Keys raw_;
  Keys normalized_;
};

}  // namespace tessera::text
