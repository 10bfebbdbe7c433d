// From a prompt to token ids: the interface that pipelines use, and the loader that picks the kind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::text {

/// What a tokenizer class adds around the ids of a text, and how it pads.
struct Framing {
  std::vector<int64_t> prefix;
  std::vector<int64_t> suffix;
  std::optional<int64_t> pad_id;
  bool pad_left = false;
};

/// Ids of exactly `max_length`.
struct PaddedIds {
  std::vector<int64_t> ids;
  std::vector<int64_t> attention_mask;  ///< 1 for a token of the text or a special one, 0 for padding
  std::string cut;                      ///< text of the tokens that did not fit; empty when all did
};

/// Immutable after loading; may be used from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids of the text with the special tokens that the class adds; added tokens inside the text are recognised.
  /// Errors: Usage when the text is not UTF-8.
  Result<std::vector<int64_t>> encode(std::string_view text) const;

  /// As encode, but the text's tokens are cut so that all fits into `max_length`; the special tokens stay.
  /// `cut` (optional) gets the text of what was left out. Errors: Usage also when max_length is too small.
  Result<std::vector<int64_t>> encode_truncated(std::string_view text, int64_t max_length,
                                                std::string* cut = nullptr) const;

  /// encode_truncated, padded to `max_length`. Errors: also BadFile when the tokenizer names no padding token.
  Result<PaddedIds> encode_padded(std::string_view text, int64_t max_length) const;

  /// The text of ids, special tokens included.
  virtual std::string decode(const std::vector<int64_t>& ids) const = 0;

  /// The id of a token such as "<|im_start|>" or a piece of the vocabulary.
  virtual std::optional<int64_t> id_of(std::string_view token) const = 0;

  const Framing& framing() const { return framing_; }

 protected:
  explicit Tokenizer(Framing framing) : framing_(std::move(framing)) {}

 private:
  virtual std::vector<int64_t> encode_plain(std::string_view text) const = 0;
  virtual std::vector<int64_t> frame(std::vector<int64_t> ids) const;

  Framing framing_;
};

/// Loads the tokenizer of a folder. The kind comes from tokenizer_config.json (`tokenizer_class`); the vocabulary from
/// tokenizer.json, vocab.json + merges.txt or spiece.model, each possibly stored as NAME.gz.
/// Errors: NotFound, BadFile, Unsupported, each naming the file.
Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::filesystem::path& folder);

}  // namespace tessera::text
