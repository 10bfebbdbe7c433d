#include "text/tokenizer_json.h"

#include "base/strings.h"
#include "text/tokenizer_config.h"

namespace tessera::text {
namespace {

Result<const Json*> model_of(const Json& document) {
  const auto it = document.find("model");
  if (it == document.end() || !it->is_object()) return fail(ErrorCode::BadFile, "it has no object 'model'");
  return &*it;
}

Result<std::pair<std::string, std::string>> parse_merge(const Json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto space = text.find(' ');
    if (space != std::string::npos) return std::pair(text.substr(0, space), text.substr(space + 1));
  }
  if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
    return std::pair(value[0].get<std::string>(), value[1].get<std::string>());
  }
  return fail(ErrorCode::BadFile, "a merge is not a pair of texts");
}

// Ids of one {"SpecialToken": {"id": NAME}} of a template.
Status append_special(const Json& item, const Json& special, std::vector<int64_t>& ids) {
  const std::string name = item.at("SpecialToken").at("id");
  for (const auto& id : special.at(name).at("ids")) ids.push_back(id.get<int64_t>());
  return {};
}

Result<Framing> template_framing(const Json& processor) {
  Framing out;
  bool after_text = false;
  for (const auto& item : processor.at("single")) {
    if (item.contains("Sequence")) {
      after_text = true;
      continue;
    }
    TESSERA_TRY_OK(append_special(item, processor.at("special_tokens"), after_text ? out.suffix : out.prefix));
  }
  return out;
}

Result<Framing> framing_of(const Json& processor) {
  if (processor.is_null()) return Framing{};
  const std::string type = processor.at("type");
  if (type == "ByteLevel") return Framing{};
  if (type == "TemplateProcessing") return template_framing(processor);
  if (type == "RobertaProcessing" || type == "BertProcessing") {
    Framing out;
    out.prefix.push_back(processor.at("cls").at(1).get<int64_t>());
    out.suffix.push_back(processor.at("sep").at(1).get<int64_t>());
    return out;
  }
  if (type != "Sequence") return fail(ErrorCode::Unsupported, "post-processor '" + type + "' is not known");
  Framing out;
  for (const auto& part : processor.at("processors")) {
    TESSERA_TRY(const Framing inner, framing_of(part));
    out.prefix.insert(out.prefix.begin(), inner.prefix.begin(), inner.prefix.end());
    out.suffix.insert(out.suffix.end(), inner.suffix.begin(), inner.suffix.end());
  }
  return out;
}

}  // namespace

Result<std::string> model_type(const Json& document) {
  TESSERA_TRY(const Json* model, model_of(document));
  TESSERA_TRY(auto type, json::value_or<std::string>(*model, "type", ""));
  if (type.empty()) type = model->contains("merges") ? "BPE" : "Unigram";
  return type;
}

Result<std::vector<std::pair<std::string, int64_t>>> vocabulary_entries(const Json& object) {
  if (!object.is_object()) return fail(ErrorCode::BadFile, "the vocabulary is no object of pieces and ids");
  std::vector<std::pair<std::string, int64_t>> entries;
  entries.reserve(object.size());
  for (const auto& [piece, id] : object.items()) {
    if (!id.is_number_integer()) return fail(ErrorCode::BadFile, "the id of piece '" + piece + "' is no integer");
    entries.emplace_back(piece, id.get<int64_t>());
  }
  return entries;
}

Result<BpeVocabulary> bpe_vocabulary(const Json& document) {
  TESSERA_TRY(const Json* model, model_of(document));
  if (!model->contains("vocab") || !model->contains("merges") || !model->at("merges").is_array()) {
    return fail(ErrorCode::BadFile, "its model has no vocabulary with merges");
  }
  BpeVocabulary out;
  TESSERA_TRY(out.entries, vocabulary_entries(model->at("vocab")));
  for (const auto& merge : model->at("merges")) {
    TESSERA_TRY(auto pair, parse_merge(merge));
    out.merges.push_back(std::move(pair));
  }
  return out;
}

Result<BpeOptions> bpe_options(const Json& document) {
  TESSERA_TRY(const Json* model, model_of(document));
  BpeOptions out;
  TESSERA_TRY(out.unknown_piece, json::value_or<std::string>(*model, "unk_token", ""));
  TESSERA_TRY(out.end_of_word_suffix, json::value_or<std::string>(*model, "end_of_word_suffix", ""));
  TESSERA_TRY(out.continuing_prefix, json::value_or<std::string>(*model, "continuing_subword_prefix", ""));
  TESSERA_TRY(out.fuse_unknown, json::value_or<bool>(*model, "fuse_unk", false));
  TESSERA_TRY(out.byte_fallback, json::value_or<bool>(*model, "byte_fallback", false));
  TESSERA_TRY(out.ignore_merges, json::value_or<bool>(*model, "ignore_merges", false));
  return out;
}

Result<UnigramVocabulary> unigram_vocabulary(const Json& document) {
  TESSERA_TRY(const Json* model, model_of(document));
  const auto vocab = model->find("vocab");
  if (vocab == model->end() || !vocab->is_array()) {
    return fail(ErrorCode::BadFile, "its model has no list of pieces with scores");
  }
  UnigramVocabulary out;
  out.pieces.reserve(vocab->size());
  for (const auto& entry : *vocab) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      return fail(ErrorCode::BadFile, strings::join("piece ", out.pieces.size(), " is not a text with a score"));
    }
    out.pieces.emplace_back(entry[0].get_ref<const std::string&>(), entry[1].get<double>());
  }
  TESSERA_TRY(out.unknown_id, json::value_or<int64_t>(*model, "unk_id", 0));
  TESSERA_TRY(auto steps, normalizer_steps(document));
  for (auto& step : steps) {
    if (auto* map = std::get_if<Charsmap>(&step); map != nullptr && !out.charsmap) out.charsmap = std::move(*map);
  }
  return out;
}

Result<Framing> post_processor_framing(const Json& document) {
  const auto it = document.find("post_processor");
  if (it == document.end()) return Framing{};
  try {
    return framing_of(*it);
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::BadFile, strings::join("its post-processor is damaged (", e.what(), ")"));
  }
}

Result<std::vector<AddedToken>> added_tokens(const Json& document) {
  std::vector<AddedToken> out;
  const auto it = document.find("added_tokens");
  if (it == document.end() || it->is_null()) return out;
  if (!it->is_array()) return fail(ErrorCode::BadFile, "'added_tokens' is no list");
  for (const auto& value : *it) {
    TESSERA_TRY(auto token, parse_added_token(value));
    out.push_back(std::move(token));
  }
  return out;
}

}  // namespace tessera::text
