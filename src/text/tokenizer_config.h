// tokenizer_config.json, special_tokens_map.json and added_tokens.json: class, named tokens, added tokens.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/added_tokens.h"
#include "text/vocabulary.h"

namespace tessera::text {

struct TokenizerConfig {
  std::string tokenizer_class;  ///< without "Fast" at its end; empty when nothing says it
  /// "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token" → content.
  /// A key with no value was set to null on purpose; a key that is absent takes the class's default.
  std::map<std::string, std::optional<std::string>> named;
  std::vector<AddedToken> added;   ///< in the order of adding; ids are not settled yet
  std::vector<std::string> extra;  ///< additional_special_tokens
  bool pad_left = false;
  bool add_bos = false;
  bool add_eos = false;
  int64_t extra_ids = -1;  ///< T5's number of sentinels, -1 when not given

  /// The named token, the default when the config says nothing, or nothing when it is null.
  std::optional<std::string> name_or(const std::string& key, const std::string& otherwise) const;
};

/// Errors: BadFile naming the file. Missing files are allowed.
Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder);

/// One added token as JSON writes it. Errors: BadFile.
Result<AddedToken> parse_added_token(const Json& value);

/// All added tokens with their ids: those of the list, then named and extra ones that are not in it. A token that the
/// vocabulary has keeps that id; others are numbered on from its end, as the reference does.
std::vector<AddedToken> settle_ids(std::vector<AddedToken> tokens, const std::vector<std::string>& more,
                                   const Vocabulary& vocabulary);

}  // namespace tessera::text
