#include "text/spiece.h"

#include <bit>
#include <optional>

#include "base/strings.h"
#include "text/unicode.h"

namespace tessera::text {
namespace {

// One field of the wire format; `bytes` for length-delimited ones, `number` for the others.
struct Field {
  uint64_t id = 0;
  uint64_t number = 0;
  std::string_view bytes;
};

// Walks over the fields of one message; stops at the end or at damage.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    Field field;
    const auto tag = varint();
    if (!tag) return damaged();
    field.id = *tag >> 3;
    switch (*tag & 7) {
      case 0:
        if (const auto v = varint()) return field.number = *v, field;
        return damaged();
      case 1:
        return fixed(field, 8);
      case 2: {
        const auto size = varint();
        if (!size || *size > rest_.size()) return damaged();
        field.bytes = rest_.substr(0, *size);
        rest_.remove_prefix(*size);
        return field;
      }
      case 5:
        return fixed(field, 4);
      default:
        return damaged();
    }
  }

  bool ok() const { return ok_; }

 private:
  std::optional<Field> damaged() {
    ok_ = false;
    return std::nullopt;
  }

  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::optional<Field> fixed(Field field, size_t size) {
    if (rest_.size() < size) return damaged();
    for (size_t i = 0; i < size; ++i) {
      field.number |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// Field numbers of sentencepiece_model.proto.
Result<SentencePiece> parse_piece(std::string_view bytes) {
  SentencePiece piece;
  Fields fields(bytes);
  while (const auto f = fields.next()) {
    if (f->id == 1) piece.text = f->bytes;
    if (f->id == 2) piece.score = std::bit_cast<float>(static_cast<uint32_t>(f->number));
    if (f->id == 3) piece.kind = static_cast<SentencePiece::Kind>(f->number);
  }
  if (!fields.ok() || first_malformed_byte(piece.text)) return fail(ErrorCode::BadFile, "a piece is damaged");
  return piece;
}

bool parse_trainer(std::string_view bytes, SentencePieceModel& model) {
  Fields fields(bytes);
  while (const auto f = fields.next()) {
    if (f->id == 3) model.kind = static_cast<SentencePieceModel::Kind>(f->number);
    if (f->id == 40) model.unknown_id = static_cast<int64_t>(f->number);
  }
  return fields.ok();
}

bool parse_normalizer(std::string_view bytes, SentencePieceModel& model) {
  Fields fields(bytes);
  while (const auto f = fields.next()) {
    if (f->id == 2) model.charsmap = f->bytes;
  }
  return fields.ok();
}

}  // namespace

Result<SentencePieceModel> parse_sentencepiece(std::string_view bytes) {
  SentencePieceModel model;
  Fields fields(bytes);
  bool parts_ok = true;
  while (const auto f = fields.next()) {
    if (f->id == 1) {
      TESSERA_TRY(auto piece, parse_piece(f->bytes));
      model.pieces.push_back(std::move(piece));
    }
    if (f->id == 2) parts_ok = parts_ok && parse_trainer(f->bytes, model);
    if (f->id == 3) parts_ok = parts_ok && parse_normalizer(f->bytes, model);
  }
  if (!fields.ok() || !parts_ok) return fail(ErrorCode::BadFile, "it is cut off or not a sentencepiece model");
  if (model.pieces.empty()) return fail(ErrorCode::BadFile, "it has no pieces; it is not a sentencepiece model");
  return model;
}

}  // namespace tessera::text
