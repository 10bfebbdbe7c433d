// A folder with nothing but a sentencepiece model.
#include "text/spiece.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "text/tokenizer.h"

namespace tessera::text {
namespace {

namespace fs = std::filesystem;

std::string model_bytes() {
  return file::read_text(fs::path(TESSERA_SOURCE_DIR) / "tests/golden/spiece/spiece.model").value();
}

}  // namespace

TEST(SentencePiece, AModelAloneGivesTheIdsOfTheReference) {
  char name[] = "/tmp/tessera_spiece_test_XXXXXX";
  const fs::path folder = ::mkdtemp(name);
  ASSERT_TRUE(file::write_atomically(folder / "spiece.model", model_bytes()));
  ASSERT_TRUE(file::write_atomically(folder / "tokenizer_config.json",
                                     R"({"tokenizer_class": "T5Tokenizer", "extra_ids": 2})"));
  const auto tokenizer = load_tokenizer(folder);
  fs::remove_all(folder);
  ASSERT_TRUE(tokenizer) << tokenizer.error().line();
  // transformers 5.24 on the same folder
  using Ids = std::vector<int64_t>;
  EXPECT_EQ((*tokenizer)->encode("A car drives along the coast").value(),
            (Ids{278, 319, 277, 322, 511, 262, 263, 308, 395, 265, 516, 299, 1}));
  EXPECT_EQ((*tokenizer)->encode("ein 漢字 <extra_id_1>x<extra_id_0>").value(),
            (Ids{260, 274, 310, 260, 2, 689, 260, 496, 690, 1}));
  EXPECT_EQ((*tokenizer)->encode("").value(), Ids{1});
}

TEST(SentencePiece, ACutOffModelIsABadFile) {
  const std::string bytes = model_bytes();
  const auto whole = parse_sentencepiece(bytes).value();
  EXPECT_EQ(whole.kind, SentencePieceModel::Kind::Unigram);
  int64_t refused = 0;
  for (size_t size = 0; size < bytes.size(); size += 61) {
    const auto cut = parse_sentencepiece(std::string_view(bytes).substr(0, size));
    if (!cut) {
      EXPECT_EQ(cut.error().code, ErrorCode::BadFile);
      ++refused;
    } else {
      EXPECT_LE(cut->pieces.size(), whole.pieces.size());
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace tessera::text
