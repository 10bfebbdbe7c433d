// load_tokenizer: which class, which files, and the parts that each class is made of.
#include <algorithm>

#include "base/file.h"
#include "base/strings.h"
#include "text/bpe.h"
#include "text/byt5.h"
#include "text/pipeline_tokenizer.h"
#include "text/spiece.h"
#include "text/tokenizer.h"
#include "text/tokenizer_config.h"
#include "text/tokenizer_json.h"
#include "text/unigram.h"

namespace tessera::text {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  TokenizerConfig config;
  std::optional<Json> document;  // tokenizer.json

  fs::path file(const char* name) const { return path / name; }
};

// Puts the file's name before a complaint about its content.
template <typename T>
Result<T> naming(const fs::path& file, Result<T> result) {
  if (result) return result;
  return fail(result.error().code, file.string() + ": " + result.error().what, result.error().hint);
}

Result<Merges> read_merges(const fs::path& path) {
  TESSERA_TRY(const std::string text, file::read_text(path));
  Merges merges;
  int64_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    const auto space = line.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string_view::npos) {
      return fail(ErrorCode::BadFile,
                  strings::join(path.string(), ": line ", number, " is not two pieces and a space"));
    }
    merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
  return merges;
}

struct BpeSource {
  BpeVocabulary vocabulary;
  fs::path file;  // the one to blame
};

Result<BpeSource> read_bpe(const Folder& folder) {
  BpeSource out;
  if (folder.document) {
    out.file = folder.file("tokenizer.json");
    TESSERA_TRY(out.vocabulary, naming(out.file, bpe_vocabulary(*folder.document)));
    return out;
  }
  const auto vocab = folder.file("vocab.json");
  TESSERA_TRY(const Json object, json::read_file(vocab));
  TESSERA_TRY(out.vocabulary.entries, naming(vocab, vocabulary_entries(object)));
  out.file = folder.file("merges.txt");
  TESSERA_TRY(out.vocabulary.merges, read_merges(out.file));
  return out;
}

Status add_bpe(const Folder& folder, const BpeOptions& options, TokenizerParts& parts) {
  TESSERA_TRY(const BpeSource source, read_bpe(folder));
  const auto vocab_file = folder.document ? source.file : folder.file("vocab.json");
  TESSERA_TRY(auto vocabulary, naming(vocab_file, Vocabulary::make(source.vocabulary.entries)));
  TESSERA_TRY(parts.model, naming(source.file, make_bpe(std::move(vocabulary), source.vocabulary.merges, options)));
  return {};
}

AddedTokens::Normalize normalizer_of(const TokenizerParts& parts) {
  return [&parts](std::string s) { return normalize(std::move(s), parts.normalizer); };
}

// Named tokens of a class, in the reference's order, with the class's defaults.
struct Names {
  std::string bos, eos, unk, pad;
};

std::vector<std::string> special_contents(const TokenizerConfig& config, const Names& names) {
  std::vector<std::string> out;
  const std::pair<const char*, std::string> order[] = {
      {"bos_token", names.bos}, {"eos_token", names.eos}, {"unk_token", names.unk}, {"sep_token", ""},
      {"pad_token", names.pad}, {"cls_token", ""},        {"mask_token", ""}};
  for (const auto& [key, otherwise] : order) {
    if (const auto name = config.name_or(key, otherwise)) out.push_back(*name);
  }
  out.insert(out.end(), config.extra.begin(), config.extra.end());
  return out;
}

// Needs the model and the normalizer in place.
std::vector<AddedToken> add_tokens(const Folder& folder, std::vector<AddedToken> first, const Names& names,
                                   TokenizerParts& parts) {
  first.insert(first.end(), folder.config.added.begin(), folder.config.added.end());
  auto tokens = settle_ids(std::move(first), special_contents(folder.config, names), parts.model->vocabulary());
  parts.added = AddedTokens(tokens, normalizer_of(parts));
  return tokens;
}

Result<int64_t> id_of_name(const Folder& folder, const TokenizerParts& parts, const std::string& name) {
  if (const AddedToken* token = parts.added.find(name)) return token->id;
  if (const auto id = parts.model->vocabulary().id_of(name)) return *id;
  return fail(ErrorCode::BadFile, strings::join(folder.file("tokenizer_config.json").string(), ": the token '", name,
                                                "' is not in the vocabulary"));
}

Status finish_framing(const Folder& folder, const Names& names, TokenizerParts& parts) {
  parts.framing.pad_left = folder.config.pad_left;
  if (const auto pad = folder.config.name_or("pad_token", names.pad)) {
    TESSERA_TRY(parts.framing.pad_id, id_of_name(folder, parts, *pad));
  }
  return {};
}

Result<std::unique_ptr<Tokenizer>> load_clip(const Folder& folder) {
  constexpr const char* kEnd = "<|endoftext|>";
  const Names names{"<|startoftext|>", kEnd, kEnd, kEnd};
  TokenizerParts parts;
  parts.normalizer = {NormalForm::Nfc, CollapseWhiteSpace{}, LowerCase{}};
  parts.pre_tokenizer = {ClipWords{}, ByteLevel{}};
  BpeOptions options;
  options.end_of_word_suffix = "</w>";
  options.unknown_piece = folder.config.name_or("unk_token", kEnd).value_or("");
  TESSERA_TRY_OK(add_bpe(folder, options, parts));
  add_tokens(folder, {}, names, parts);
  TESSERA_TRY(const auto bos,
              id_of_name(folder, parts, folder.config.name_or("bos_token", names.bos).value_or(names.bos)));
  TESSERA_TRY(const auto eos,
              id_of_name(folder, parts, folder.config.name_or("eos_token", names.eos).value_or(names.eos)));
  parts.framing.prefix = {bos};
  parts.framing.suffix = {eos};
  TESSERA_TRY_OK(finish_framing(folder, names, parts));
  return make_pipeline_tokenizer(std::move(parts));
}

// Without a post-processor in tokenizer.json the flags of the config decide.
Status frame_by_document_or_flags(const Folder& folder, const Names& names, TokenizerParts& parts) {
  if (folder.document && !folder.document->value("post_processor", Json()).is_null()) {
    TESSERA_TRY(parts.framing, naming(folder.file("tokenizer.json"), post_processor_framing(*folder.document)));
  } else {
    const auto bos = folder.config.name_or("bos_token", names.bos);
    const auto eos = folder.config.name_or("eos_token", names.eos);
    if (folder.config.add_bos && bos) {
      TESSERA_TRY(const auto id, id_of_name(folder, parts, *bos));
      parts.framing.prefix = {id};
    }
    if (folder.config.add_eos && eos) {
      TESSERA_TRY(const auto id, id_of_name(folder, parts, *eos));
      parts.framing.suffix = {id};
    }
  }
  return finish_framing(folder, names, parts);
}

Result<std::unique_ptr<Tokenizer>> load_qwen2(const Folder& folder) {
  constexpr const char* kEnd = "<|endoftext|>";
  const Names names{"", kEnd, kEnd, kEnd};
  TokenizerParts parts;
  parts.normalizer = {NormalForm::Nfc};
  parts.pre_tokenizer = {QwenWords{}, ByteLevel{}};
  TESSERA_TRY_OK(add_bpe(folder, {}, parts));
  add_tokens(folder, {}, names, parts);
  TESSERA_TRY_OK(frame_by_document_or_flags(folder, names, parts));
  return make_pipeline_tokenizer(std::move(parts));
}

Result<std::unique_ptr<Tokenizer>> load_gemma(const Folder& folder) {
  if (!folder.document) {
    return fail(ErrorCode::Unsupported, folder.path.string() + " has no tokenizer.json (a Gemma tokenizer needs it)");
  }
  const Names names{"<bos>", "<eos>", "<unk>", "<pad>"};
  TokenizerParts parts;
  parts.spelling = PieceSpelling::Metaspace;
  parts.normalizer = {ReplaceText{" ", Metaspace{}.mark}};
  BpeOptions options;
  options.unknown_piece = folder.config.name_or("unk_token", names.unk).value_or("");
  options.fuse_unknown = true;
  options.byte_fallback = true;
  TESSERA_TRY_OK(add_bpe(folder, options, parts));
  add_tokens(folder, {}, names, parts);
  TESSERA_TRY_OK(frame_by_document_or_flags(folder, names, parts));
  return make_pipeline_tokenizer(std::move(parts));
}

std::vector<std::string> sentinel_names(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = count - 1; i >= 0; --i) names.push_back(strings::join("<extra_id_", i, ">"));
  return names;
}

Result<UnigramVocabulary> read_spiece(const fs::path& path, int64_t sentinels) {
  TESSERA_TRY(const auto bytes, file::read_text(path));
  TESSERA_TRY(const auto model, naming(path, parse_sentencepiece(bytes)));
  if (model.kind != SentencePieceModel::Kind::Unigram) {
    return fail(ErrorCode::BadFile, path.string() + " is not a unigram model");
  }
  UnigramVocabulary out;
  for (const auto& piece : model.pieces) out.pieces.emplace_back(piece.text, piece.score);
  for (const auto& name : sentinel_names(sentinels)) out.pieces.emplace_back(name, 0.0);
  out.unknown_id = model.unknown_id;
  if (model.charsmap.empty()) return out;
  TESSERA_TRY(auto map, naming(path, Charsmap::parse(model.charsmap)));
  out.charsmap = std::move(map);
  return out;
}

Result<std::unique_ptr<Tokenizer>> load_t5(Folder folder) {
  // The reference's class takes this id for unknown pieces whatever the file says (UMT5's file says 3).
  constexpr int64_t kUnknownId = 2;
  constexpr int64_t kSentinels = 100;
  const Names names{"", "</s>", "<unk>", "<pad>"};
  const int64_t sentinels = folder.config.extra_ids < 0 ? kSentinels : folder.config.extra_ids;
  if (sentinels > 100'000)
    return fail(ErrorCode::BadFile, folder.file("tokenizer_config.json").string() + ": extra_ids is too large");
  const auto source = folder.document ? folder.file("tokenizer.json") : folder.file("spiece.model");
  TESSERA_TRY(auto vocabulary,
              folder.document ? naming(source, unigram_vocabulary(*folder.document)) : read_spiece(source, sentinels));
  TokenizerParts parts;
  parts.spelling = PieceSpelling::Metaspace;
  if (vocabulary.charsmap) parts.normalizer.emplace_back(std::move(*vocabulary.charsmap));
  parts.pre_tokenizer = {WhiteSpaceSplit{}, Metaspace{}};
  TESSERA_TRY(parts.model, naming(source, make_unigram(vocabulary.pieces, kUnknownId)));
  if (folder.config.extra.empty()) {
    folder.config.extra = sentinel_names(sentinels);
    std::reverse(folder.config.extra.begin(), folder.config.extra.end());
  }
  add_tokens(folder, {}, names, parts);
  TESSERA_TRY(const auto eos,
              id_of_name(folder, parts, folder.config.name_or("eos_token", names.eos).value_or(names.eos)));
  parts.framing.suffix = {eos};
  TESSERA_TRY_OK(finish_framing(folder, names, parts));
  return make_pipeline_tokenizer(std::move(parts));
}

Result<std::unique_ptr<Tokenizer>> load_byt5(const Folder& folder) {
  std::vector<AddedToken> tokens = folder.config.added;
  if (tokens.empty()) {
    int64_t id = 0;
    for (const char* content : {"<pad>", "</s>", "<unk>"}) {
      AddedToken token;
      token.content = content;
      token.id = id++;
      token.lstrip = token.rstrip = true;
      tokens.push_back(std::move(token));
    }
  }
  AddedTokens added(std::move(tokens), [](std::string s) { return s; });
  Framing framing;
  framing.pad_left = folder.config.pad_left;
  const AddedToken* pad = added.find(folder.config.name_or("pad_token", "<pad>").value_or(""));
  const AddedToken* eos = added.find(folder.config.name_or("eos_token", "</s>").value_or(""));
  if (pad != nullptr) framing.pad_id = pad->id;
  if (eos != nullptr) framing.suffix = {eos->id};
  return make_byt5(std::move(added), std::move(framing));
}

// Any other class: tokenizer.json says everything.
Result<std::unique_ptr<Tokenizer>> load_by_document(const Folder& folder) {
  const auto path = folder.file("tokenizer.json");
  const Json& document = *folder.document;
  TokenizerParts parts;
  TESSERA_TRY(parts.normalizer, naming(path, normalizer_steps(document)));
  TESSERA_TRY(parts.pre_tokenizer, naming(path, pre_tokenizer_steps(document)));
  TESSERA_TRY(const auto type, naming(path, model_type(document)));
  if (type == "BPE") {
    TESSERA_TRY(const auto options, naming(path, bpe_options(document)));
    TESSERA_TRY_OK(add_bpe(folder, options, parts));
  } else if (type == "Unigram") {
    TESSERA_TRY(const auto vocabulary, naming(path, unigram_vocabulary(document)));
    TESSERA_TRY(parts.model, naming(path, make_unigram(vocabulary.pieces, vocabulary.unknown_id)));
  } else {
    return fail(ErrorCode::Unsupported, strings::join(path.string(), ": model type '", type, "' is not known"));
  }
  for (const auto& step : parts.pre_tokenizer) {
    if (std::holds_alternative<Metaspace>(step)) parts.spelling = PieceSpelling::Metaspace;
  }
  TESSERA_TRY(auto tokens, naming(path, added_tokens(document)));
  add_tokens(folder, std::move(tokens), {}, parts);
  TESSERA_TRY_OK(frame_by_document_or_flags(folder, {}, parts));
  return make_pipeline_tokenizer(std::move(parts));
}

// What a folder without a class must be, from its files.
std::string guess_class(const Folder& folder) {
  if (folder.document) return "";
  if (file::exists(folder.file("spiece.model"))) return "T5Tokenizer";
  if (!file::exists(folder.file("merges.txt"))) return "";
  const auto merges = file::read_text(folder.file("merges.txt"));
  return merges && merges->find("</w>") != std::string::npos ? "CLIPTokenizer" : "Qwen2Tokenizer";
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> load_tokenizer(const std::filesystem::path& path) {
  std::error_code ec;
  if (!fs::is_directory(path, ec)) {
    return fail(ErrorCode::NotFound, strings::join("tokenizer folder ", path.string(), " is not there"),
                "give a folder with tokenizer_config.json and its vocabulary files");
  }
  Folder folder{path, {}, {}};
  TESSERA_TRY(folder.config, read_tokenizer_config(path));
  const auto document = folder.file("tokenizer.json");
  if (file::exists(document)) {
    TESSERA_TRY(folder.document, json::read_file(document));
    if (!folder.document->is_object()) return fail(ErrorCode::BadFile, document.string() + " is no JSON object");
  }
  std::string kind = folder.config.tokenizer_class;
  if (kind.empty()) kind = guess_class(folder);
  if (kind == "CLIPTokenizer") return load_clip(folder);
  if (kind == "T5Tokenizer") return load_t5(std::move(folder));
  if (kind == "Qwen2Tokenizer") return load_qwen2(folder);
  if (kind == "GemmaTokenizer") return load_gemma(folder);
  if (kind == "ByT5Tokenizer") return load_byt5(folder);
  if (folder.document) return load_by_document(folder);
  return fail(ErrorCode::NotFound,
              strings::join(path.string(), " has no tokenizer that is known (class '", kind, "', no tokenizer.json)"));
}

}  // namespace tessera::text
