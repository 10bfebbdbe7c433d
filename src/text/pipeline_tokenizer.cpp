#include "text/pipeline_tokenizer.h"

namespace tessera::text {
namespace {

class PipelineTokenizer final : public Tokenizer {
 public:
  explicit PipelineTokenizer(TokenizerParts parts) : Tokenizer(parts.framing), parts_(std::move(parts)) {}

  std::string decode(const std::vector<int64_t>& ids) const override {
    std::string out;
    for (const int64_t id : ids) {
      const AddedToken* added = parts_.added.find(id);
      out += added != nullptr ? added->content : spell(parts_.model->vocabulary().piece(id));
    }
    return out;
  }

  std::optional<int64_t> id_of(std::string_view token) const override {
    if (const AddedToken* added = parts_.added.find(token)) return added->id;
    return parts_.model->vocabulary().id_of(token);
  }

 private:
  std::vector<int64_t> encode_plain(std::string_view text) const override {
    std::vector<int64_t> ids;
    const auto normalizer = [this](std::string s) { return normalize(std::move(s), parts_.normalizer); };
    for (auto& section : parts_.added.split(std::string(text), normalizer)) {
      if (section.token) {
        ids.push_back(*section.token);
        continue;
      }
      for (const auto& word : pre_tokenize(std::move(section.text), parts_.pre_tokenizer, section.at_front)) {
        parts_.model->tokenize(word, ids);
      }
    }
    return ids;
  }

  std::string spell(std::string_view piece) const {
    if (parts_.spelling == PieceSpelling::Metaspace) return replace_all(piece, Metaspace{}.mark, " ");
    constexpr std::string_view kEndOfWord = "</w>";
    const bool ends_word = piece.ends_with(kEndOfWord);
    if (ends_word) piece.remove_suffix(kEndOfWord.size());
    return bytes_of_characters(piece) + (ends_word ? " " : "");
  }

  TokenizerParts parts_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_pipeline_tokenizer(TokenizerParts parts) {
  return std::make_unique<PipelineTokenizer>(std::move(parts));
}

}  // namespace tessera::text
