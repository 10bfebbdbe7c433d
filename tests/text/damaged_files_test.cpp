// Tokenizer folders that are not as they should be: one error that names the file, never a crash.
#include <functional>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "text/tokenizer.h"

namespace tessera::text {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

Files clip() {
  return {{"tokenizer_config.json", R"({"tokenizer_class": "CLIPTokenizer"})"},
          {"vocab.json", R"({"a": 0, "b": 1, "b</w>": 2, "ab</w>": 3, "<|startoftext|>": 4, "<|endoftext|>": 5})"},
          {"merges.txt", "#version: 0.2\na b</w>\n"}};
}

Files t5() {
  return {{"tokenizer_config.json", R"({"tokenizer_class": "T5TokenizerFast", "extra_ids": 0})"},
          {"tokenizer.json", R"({"model": {"type": "Unigram", "unk_id": 2, "vocab":
              [["<pad>", 0], ["</s>", 0], ["<unk>", 0], ["\u2581a", -1.5]]}})"}};
}

Files with(Files files, const std::string& name, const std::string& text) {
  files[name] = text;
  return files;
}

Files without(Files files, const std::string& name) {
  files.erase(name);
  return files;
}

class TokenizerFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/tessera_text_test_XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<std::unique_ptr<Tokenizer>> load(const Files& files) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    for (const auto& [name, text] : files) EXPECT_TRUE(file::write_atomically(folder_ / name, text));
    return load_tokenizer(folder_);
  }
  fs::path folder_;
};

}  // namespace

TEST_F(TokenizerFolder, SmallOnesWork) {
  EXPECT_EQ(load(clip()).value()->encode("AB").value(), (std::vector<int64_t>{4, 3, 5}));
  EXPECT_EQ(load(t5()).value()->encode("a zz").value(), (std::vector<int64_t>{3, 2, 1}));
  EXPECT_EQ(load(without(clip(), "tokenizer_config.json")).value()->encode("ab").value(),
            (std::vector<int64_t>{4, 3, 5}))
      << "the files tell the class";
}

TEST_F(TokenizerFolder, DamageGivesOneErrorThatNamesTheFile) {
  const struct {
    const char* what;
    Files files;
    const char* named;
  } cases[] = {
      {"vocabulary cut off", with(clip(), "vocab.json", R"({"a": 0, "b")"), "vocab.json"},
      {"vocabulary is a list", with(clip(), "vocab.json", "[1, 2]"), "vocab.json"},
      {"an id is a text", with(clip(), "vocab.json", R"({"a": "x"})"), "vocab.json"},
      {"an id is negative", with(clip(), "vocab.json", R"({"a": -1})"), "vocab.json"},
      {"an id is huge", with(clip(), "vocab.json", R"({"a": 4000000000000})"), "vocab.json"},
      {"no vocabulary", without(clip(), "vocab.json"), "vocab.json"},
      {"no merges", without(clip(), "merges.txt"), "merges.txt"},
      {"a merge of one piece", with(clip(), "merges.txt", "a\n"), "merges.txt"},
      {"a merge of three pieces", with(clip(), "merges.txt", "a b a\n"), "merges.txt"},
      {"a merge of an unknown piece", with(clip(), "merges.txt", "a q\n"), "merges.txt"},
      {"a merge into an unknown piece", with(clip(), "merges.txt", "b a\n"), "merges.txt"},
      {"config cut off", with(clip(), "tokenizer_config.json", "{"), "tokenizer_config.json"},
      {"config is a list", with(clip(), "tokenizer_config.json", "[]"), "tokenizer_config.json"},
      {"config nested without end", with(clip(), "tokenizer_config.json", std::string(100000, '[')),
       "tokenizer_config.json"},
      {"a merge nested deep",
       with(t5(), "tokenizer.json", R"({"model": {"vocab": )" + std::string(5000, '[') + std::string(5000, ']') + "}}"),
       "tokenizer.json"},
      {"class is a number", with(clip(), "tokenizer_config.json", R"({"tokenizer_class": 3})"),
       "tokenizer_config.json"},
      {"the end token is not there", with(clip(), "vocab.json", R"({"a": 0, "b": 1, "b</w>": 2, "ab</w>": 3})"), ""},
      {"no tokenizer.json and no spiece.model", without(t5(), "tokenizer.json"), "spiece.model"},
      {"no model", with(t5(), "tokenizer.json", "{}"), "tokenizer.json"},
      {"model of another type",
       with(t5(), "tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}})"),
       "tokenizer.json"},
      {"tokenizer.json is a list", with(t5(), "tokenizer.json", "[]"), "tokenizer.json"},
      {"a score is a text", with(t5(), "tokenizer.json", R"({"model": {"vocab": [["a", "x"]]}})"), "tokenizer.json"},
      {"too few pieces", with(t5(), "tokenizer.json", R"({"model": {"vocab": [["a", 1]]}})"), "tokenizer.json"},
      {"a character map that is not base64",
       with(t5(), "tokenizer.json",
            R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"}, "model": {"vocab": []}})"),
       "tokenizer.json"},
      {"a character map that is cut off",
       with(t5(), "tokenizer.json",
            R"({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////w=="}, "model": {"vocab": []}})"),
       "tokenizer.json"},
      {"spiece.model is a text", with(without(t5(), "tokenizer.json"), "spiece.model", "hello"), "spiece.model"},
      {"spiece.model is empty", with(without(t5(), "tokenizer.json"), "spiece.model", ""), "spiece.model"},
      {"a normalizer that nobody knows",
       with(with(t5(), "tokenizer_config.json", "{}"), "tokenizer.json",
            R"({"normalizer": {"type": "Fancy"}, "model": {"type": "Unigram", "vocab": [["a", 1]]}})"),
       "tokenizer.json"},
  };
  for (const auto& c : cases) {
    const auto loaded = load(c.files);
    if (std::string(c.named).empty()) {
      EXPECT_TRUE(loaded) << c.what << ": the reference adds such a token at the end";
      continue;
    }
    ASSERT_FALSE(loaded) << c.what;
    EXPECT_NE(loaded.error().what.find(c.named), std::string::npos) << c.what << ": " << loaded.error().line();
    EXPECT_NE(loaded.error().code, ErrorCode::Bug) << c.what;
  }
}

TEST_F(TokenizerFolder, AFolderThatIsNotThereIsNotFound) {
  EXPECT_EQ(load_tokenizer(folder_ / "none").error().code, ErrorCode::NotFound);
  EXPECT_EQ(load({}).error().code, ErrorCode::NotFound);
}

}  // namespace tessera::text
