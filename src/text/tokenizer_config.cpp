#include "text/tokenizer_config.h"

#include <algorithm>
#include <unordered_set>

#include "base/file.h"
#include "base/strings.h"

namespace tessera::text {
namespace {

constexpr const char* kNamed[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};

// A token is a text, an object with "content", or null.
Result<std::optional<std::string>> token_content(const Json& value) {
  if (value.is_null()) return std::nullopt;
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content") && value["content"].is_string()) {
    return value["content"].get<std::string>();
  }
  return fail(ErrorCode::BadFile,
              strings::join("a token is neither a text nor an object with 'content' but ", value.type_name()));
}

Status read_names(const Json& object, TokenizerConfig& config) {
  for (const char* key : kNamed) {
    const auto it = object.find(key);
    if (it == object.end()) continue;
    TESSERA_TRY(config.named[key], token_content(*it));
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto it = object.find(key);
    if (it == object.end() || it->is_null()) continue;
    if (!it->is_array() && !it->is_object()) return fail(ErrorCode::BadFile, strings::join("'", key, "' is no list"));
    for (const auto& value : *it) {
      TESSERA_TRY(const auto content, token_content(value));
      if (content) config.extra.push_back(*content);
    }
  }
  return {};
}

Status read_decoder(const Json& decoder, TokenizerConfig& config) {
  if (!decoder.is_object()) return fail(ErrorCode::BadFile, "'added_tokens_decoder' is no object");
  for (const auto& [key, value] : decoder.items()) {
    TESSERA_TRY(AddedToken token, parse_added_token(value));
    char* end = nullptr;
    token.id = std::strtoll(key.c_str(), &end, 10);
    if (end == key.c_str() || *end != '\0')
      return fail(ErrorCode::BadFile, "added token id '" + key + "' is no number");
    config.added.push_back(std::move(token));
  }
  std::stable_sort(config.added.begin(), config.added.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return {};
}

Status read_main(const Json& object, TokenizerConfig& config) {
  if (!object.is_object()) return fail(ErrorCode::BadFile, "it is no JSON object");
  TESSERA_TRY(config.tokenizer_class, json::value_or<std::string>(object, "tokenizer_class", ""));
  if (config.tokenizer_class.ends_with("Fast")) config.tokenizer_class.resize(config.tokenizer_class.size() - 4);
  TESSERA_TRY(const auto side, json::value_or<std::string>(object, "padding_side", ""));
  config.pad_left = side.empty() ? config.tokenizer_class == "GemmaTokenizer" : side == "left";
  TESSERA_TRY(config.add_bos, json::value_or<bool>(object, "add_bos_token", false));
  TESSERA_TRY(config.add_eos, json::value_or<bool>(object, "add_eos_token", false));
  TESSERA_TRY(config.extra_ids, json::value_or<int64_t>(object, "extra_ids", -1));
  TESSERA_TRY_OK(read_names(object, config));
  if (const auto it = object.find("added_tokens_decoder"); it != object.end()) return read_decoder(*it, config);
  return {};
}

Status read_added_json(const Json& object, TokenizerConfig& config) {
  if (!object.is_object()) return fail(ErrorCode::BadFile, "it is no JSON object");
  std::unordered_set<std::string> special(config.extra.begin(), config.extra.end());
  for (const auto& [key, name] : config.named) {
    if (name) special.insert(*name);
  }
  for (const auto& [content, id] : object.items()) {
    if (!id.is_number_integer()) return fail(ErrorCode::BadFile, "the id of '" + content + "' is no integer");
    AddedToken token;
    token.content = content;
    token.id = id.get<int64_t>();
    token.special = special.contains(content);
    token.normalized = !token.special;
    config.added.push_back(std::move(token));
  }
  std::stable_sort(config.added.begin(), config.added.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return {};
}

// Reads one file of the folder, if it is there, and puts its name before any complaint.
template <typename Read>
Status read_part(const std::filesystem::path& path, TokenizerConfig& config, Read read) {
  if (!file::exists(path)) return {};
  TESSERA_TRY(const Json value, json::read_file(path));
  auto status = read(value, config);
  if (!status) return fail(status.error().code, path.string() + ": " + status.error().what, status.error().hint);
  return {};
}

}  // namespace

std::optional<std::string> TokenizerConfig::name_or(const std::string& key, const std::string& otherwise) const {
  const auto it = named.find(key);
  if (it == named.end()) return otherwise.empty() ? std::nullopt : std::optional(otherwise);
  return it->second;
}

Result<AddedToken> parse_added_token(const Json& value) {
  if (!value.is_object()) return fail(ErrorCode::BadFile, "an added token is no object");
  AddedToken token;
  TESSERA_TRY(token.content, json::value_or<std::string>(value, "content", ""));
  TESSERA_TRY(token.id, json::value_or<int64_t>(value, "id", -1));
  TESSERA_TRY(token.special, json::value_or<bool>(value, "special", false));
  TESSERA_TRY(token.single_word, json::value_or<bool>(value, "single_word", false));
  TESSERA_TRY(token.lstrip, json::value_or<bool>(value, "lstrip", false));
  TESSERA_TRY(token.rstrip, json::value_or<bool>(value, "rstrip", false));
  TESSERA_TRY(token.normalized, json::value_or<bool>(value, "normalized", !token.special));
  return token;
}

Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& folder) {
  TokenizerConfig config;
  TESSERA_TRY_OK(read_part(folder / "tokenizer_config.json", config, read_main));
  if (!config.added.empty()) return config;
  // Folders of older releases: the names and the added tokens stand in files of their own.
  TESSERA_TRY_OK(
      read_part(folder / "special_tokens_map.json", config, [](const Json& value, TokenizerConfig& out) -> Status {
        if (!value.is_object()) return fail(ErrorCode::BadFile, "it is no JSON object");
        return read_names(value, out);
      }));
  TESSERA_TRY_OK(read_part(folder / "added_tokens.json", config, read_added_json));
  return config;
}

std::vector<AddedToken> settle_ids(std::vector<AddedToken> tokens, const std::vector<std::string>& more,
                                   const Vocabulary& vocabulary) {
  for (const auto& content : more) {
    AddedToken token;
    token.content = content;
    tokens.push_back(std::move(token));
  }
  std::vector<AddedToken> out;
  std::unordered_set<std::string> seen;
  int64_t next = vocabulary.size();
  for (auto& token : tokens) {
    if (token.content.empty() || !seen.insert(token.content).second) continue;
    const auto known = vocabulary.id_of(token.content);
    token.id = known ? *known : next;
    next = std::max(next, token.id + 1);
    out.push_back(std::move(token));
  }
  return out;
}

}  // namespace tessera::text
