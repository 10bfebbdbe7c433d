#include "text/tokenizer.h"

#include "base/strings.h"
#include "text/unicode.h"

namespace tessera::text {

std::vector<int64_t> Tokenizer::frame(std::vector<int64_t> ids) const {
  ids.insert(ids.begin(), framing_.prefix.begin(), framing_.prefix.end());
  ids.insert(ids.end(), framing_.suffix.begin(), framing_.suffix.end());
  return ids;
}

Result<std::vector<int64_t>> Tokenizer::encode(std::string_view text) const {
  TESSERA_TRY_OK(check_utf8(text));
  return frame(encode_plain(text));
}

Result<std::vector<int64_t>> Tokenizer::encode_truncated(std::string_view text, int64_t max_length,
                                                         std::string* cut) const {
  TESSERA_TRY_OK(check_utf8(text));
  const auto special = static_cast<int64_t>(framing_.prefix.size() + framing_.suffix.size());
  if (max_length < special) {
    return fail(ErrorCode::Usage,
                strings::join("max_length is ", max_length, " but the tokenizer adds ", special, " special tokens"));
  }
  std::vector<int64_t> ids = encode_plain(text);
  const auto room = static_cast<size_t>(max_length - special);
  if (ids.size() > room) {
    if (cut != nullptr) *cut = decode({ids.begin() + static_cast<std::ptrdiff_t>(room), ids.end()});
    ids.resize(room);
  }
  return frame(std::move(ids));
}

Result<PaddedIds> Tokenizer::encode_padded(std::string_view text, int64_t max_length) const {
  PaddedIds out;
  TESSERA_TRY(out.ids, encode_truncated(text, max_length, &out.cut));
  const auto missing = static_cast<size_t>(max_length) - out.ids.size();
  out.attention_mask.assign(out.ids.size(), 1);
  if (missing == 0) return out;
  if (!framing_.pad_id) return fail(ErrorCode::BadFile, "the tokenizer names no padding token");
  const auto at = [&](std::vector<int64_t>& v) { return framing_.pad_left ? v.begin() : v.end(); };
  out.ids.insert(at(out.ids), missing, *framing_.pad_id);
  out.attention_mask.insert(at(out.attention_mask), missing, 0);
  return out;
}

}  // namespace tessera::text
