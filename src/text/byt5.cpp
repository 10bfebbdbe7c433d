#include "text/byt5.h"

namespace tessera::text {
namespace {

// Padding, end and unknown come before the bytes.
constexpr int64_t kFirstByteId = 3;

class Byt5 final : public Tokenizer {
 public:
  Byt5(AddedTokens added, Framing framing) : Tokenizer(std::move(framing)), added_(std::move(added)) {}

  std::string decode(const std::vector<int64_t>& ids) const override {
    std::string out;
    for (const int64_t id : ids) {
      if (const AddedToken* token = added_.find(id)) {
        out += token->content;
      } else if (id >= kFirstByteId && id < kFirstByteId + 256) {
        out += static_cast<char>(id - kFirstByteId);
      }
    }
    return out;
  }

  std::optional<int64_t> id_of(std::string_view token) const override {
    if (const AddedToken* added = added_.find(token)) return added->id;
    if (token.size() != 1) return std::nullopt;
    return static_cast<unsigned char>(token[0]) + kFirstByteId;
  }

 private:
  std::vector<int64_t> encode_plain(std::string_view text) const override {
    std::vector<int64_t> ids;
    for (const auto& section : added_.split(std::string(text), [](std::string s) { return s; })) {
      if (section.token) {
        ids.push_back(*section.token);
        continue;
      }
      for (const char c : section.text) ids.push_back(static_cast<unsigned char>(c) + kFirstByteId);
    }
    return ids;
  }

  // A text that ends in the end token gets no second one.
  std::vector<int64_t> frame(std::vector<int64_t> ids) const override {
    const auto& end = framing().suffix;
    if (ids.empty() || end.empty() || ids.back() != end.front()) ids.insert(ids.end(), end.begin(), end.end());
    return ids;
  }

  AddedTokens added_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byt5(AddedTokens added, Framing framing) {
  return std::make_unique<Byt5>(std::move(added), std::move(framing));
}

}  // namespace tessera::text
