// The normalizer and pre-tokenizer parts of tokenizer.json.
#include "base/strings.h"
#include "text/tokenizer_json.h"
#include "text/words.h"

namespace tessera::text {
namespace {

// A pattern is {"String": …}, taken literally, or {"Regex": …}.
Result<Pattern> parse_pattern(const Json& value) {
  if (value.contains("Regex")) return Pattern::compile(value.at("Regex").get<std::string>());
  std::string literal;
  for (const char c : value.at("String").get<std::string>()) {
    if (std::string_view("\\^$.|?*+()[]{}-#&~ ").find(c) != std::string_view::npos) literal += '\\';
    literal += c;
  }
  return Pattern::compile(literal);
}

Status add_normalizer(const Json& value, std::vector<NormalizerStep>& out);

Status add_normalizer_type(const std::string& type, const Json& value, std::vector<NormalizerStep>& out) {
  constexpr std::pair<std::string_view, NormalForm> kForms[] = {
      {"NFC", NormalForm::Nfc}, {"NFD", NormalForm::Nfd}, {"NFKC", NormalForm::Nfkc}, {"NFKD", NormalForm::Nfkd}};
  for (const auto& [name, form] : kForms) {
    if (type == name) return out.emplace_back(form), Status{};
  }
  if (type == "Lowercase") return out.emplace_back(LowerCase{}), Status{};
  if (type == "Prepend") return out.emplace_back(Prepend{value.at("prepend").get<std::string>()}), Status{};
  if (type == "Strip") {
    out.emplace_back(Strip{value.at("strip_left").get<bool>(), value.at("strip_right").get<bool>()});
    return {};
  }
  if (type == "Replace") {
    const auto& pattern = value.at("pattern");
    const auto to = value.at("content").get<std::string>();
    if (pattern.contains("String")) return out.emplace_back(ReplaceText{pattern.at("String"), to}), Status{};
    TESSERA_TRY(auto compiled, parse_pattern(pattern));
    out.emplace_back(ReplacePattern{std::move(compiled), to});
    return {};
  }
  if (type == "Precompiled") {
    TESSERA_TRY(const auto blob, decode_base64(value.at("precompiled_charsmap").get_ref<const std::string&>()));
    TESSERA_TRY(auto map, Charsmap::parse(blob));
    out.emplace_back(std::move(map));
    return {};
  }
  if (type != "Sequence") return fail(ErrorCode::Unsupported, "normalizer '" + type + "' is not known");
  for (const auto& part : value.at("normalizers")) TESSERA_TRY_OK(add_normalizer(part, out));
  return {};
}

Status add_normalizer(const Json& value, std::vector<NormalizerStep>& out) {
  if (value.is_null()) return {};
  return add_normalizer_type(value.at("type").get<std::string>(), value, out);
}

Result<SplitAt> parse_split(const Json& value) {
  using enum SplitAt::Behavior;
  constexpr std::pair<std::string_view, SplitAt::Behavior> kBehaviors[] = {{"Removed", Removed},
                                                                           {"Isolated", Isolated},
                                                                           {"MergedWithPrevious", MergedWithPrevious},
                                                                           {"MergedWithNext", MergedWithNext},
                                                                           {"Contiguous", Contiguous}};
  TESSERA_TRY(auto pattern, parse_pattern(value.at("pattern")));
  SplitAt out{std::move(pattern), Isolated, value.value("invert", false)};
  const std::string behavior = value.at("behavior");
  for (const auto& [name, meaning] : kBehaviors) {
    if (behavior != name) continue;
    out.behavior = meaning;
    return out;
  }
  return fail(ErrorCode::BadFile, "split behaviour '" + behavior + "' is not known");
}

Metaspace parse_metaspace(const Json& value) {
  Metaspace out;
  out.mark = value.value("replacement", out.mark);
  out.split = value.value("split", true);
  const std::string scheme = value.value("prepend_scheme", value.value("add_prefix_space", true) ? "always" : "never");
  if (scheme == "first") out.front = Metaspace::Front::First;
  if (scheme == "never") out.front = Metaspace::Front::Never;
  return out;
}

// GPT-2's own split, which the ByteLevel part does first unless told not to.
constexpr const char* kGpt2Expression = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Status add_pre_tokenizer(const Json& value, std::vector<PreTokenizerStep>& out) {
  if (value.is_null()) return {};
  const std::string type = value.at("type");
  if (type == "WhitespaceSplit") return out.emplace_back(WhiteSpaceSplit{}), Status{};
  if (type == "Metaspace") return out.emplace_back(parse_metaspace(value)), Status{};
  if (type == "ByteLevel") {
    const bool prefix = value.value("add_prefix_space", true);
    if (prefix) return fail(ErrorCode::Unsupported, "ByteLevel with add_prefix_space is not known");
    if (value.value("use_regex", true)) {
      TESSERA_TRY(auto pattern, Pattern::compile(kGpt2Expression));
      out.emplace_back(SplitAt{std::move(pattern), SplitAt::Behavior::Isolated, false});
    }
    out.emplace_back(ByteLevel{});
    return {};
  }
  if (type == "Split") {
    const auto& pattern = value.at("pattern");
    const bool qwen = pattern.contains("Regex") && pattern.at("Regex") == kQwenExpression;
    if (qwen && value.at("behavior") == "Isolated" && !value.value("invert", false)) {
      return out.emplace_back(QwenWords{}), Status{};
    }
    TESSERA_TRY(auto split, parse_split(value));
    out.emplace_back(std::move(split));
    return {};
  }
  if (type != "Sequence") return fail(ErrorCode::Unsupported, "pre-tokenizer '" + type + "' is not known");
  for (const auto& part : value.at("pretokenizers")) TESSERA_TRY_OK(add_pre_tokenizer(part, out));
  return {};
}

template <typename Step, typename Add>
Result<std::vector<Step>> steps_of(const Json& document, const char* key, Add add) {
  std::vector<Step> out;
  const auto it = document.find(key);
  if (it == document.end()) return out;
  try {
    TESSERA_TRY_OK(add(*it, out));
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::BadFile, strings::join("its ", key, " is damaged (", e.what(), ")"));
  }
  return out;
}

}  // namespace

Result<std::vector<NormalizerStep>> normalizer_steps(const Json& document) {
  return steps_of<NormalizerStep>(document, "normalizer", add_normalizer);
}

Result<std::vector<PreTokenizerStep>> pre_tokenizer_steps(const Json& document) {
  return steps_of<PreTokenizerStep>(document, "pre_tokenizer", add_pre_tokenizer);
}

}  // namespace tessera::text
