#include "apps/golden_check/tokenizers.h"

#include "base/file.h"
#include "base/strings.h"
#include "text/prompt_cleaning.h"
#include "text/tokenizer.h"

namespace tessera::golden {
namespace {

using Ids = std::vector<int64_t>;

std::string show(const Ids& ids) {
  std::string out = "[";
  for (const int64_t id : ids) out += strings::join(out.size() > 1 ? ", " : "", id);
  return out + "]";
}

std::string show(const Result<Ids>& ids) {
  return ids ? show(*ids) : "error: " + ids.error().line();
}

// Compares one field of a case; a mismatch is remembered, the first one is reported.
struct CaseCheck {
  const Json& expected;
  GoldenFailure failure;

  bool ok() const { return failure.what.empty(); }
  void ids(const char* field, const Result<Ids>& got) {
    const auto it = expected.find(field);
    if (it == expected.end()) return;
    const auto want = it->get<Ids>();
    if (!ok() || (got && *got == want)) return;
    failure = {"", field, show(got), show(want)};
  }
  void text(const char* field, const Result<std::string>& got) {
    const auto want = expected.at(field).get<std::string>();
    if (!ok() || (got && *got == want)) return;
    failure = {"", field, got ? *got : "error: " + got.error().line(), want};
  }
};

void check_case(const text::Tokenizer& tokenizer, int64_t max_length, const Json& expected, GoldenReport& report) {
  const auto text = expected.at("text").get<std::string>();
  CaseCheck check{expected, {}};
  check.ids("ids", tokenizer.encode(text));
  check.ids("ids_truncated", tokenizer.encode_truncated(text, max_length));
  if (expected.contains("cleaned")) {
    const auto cleaned = text::clean_prompt(text);
    check.text("cleaned", cleaned);
    check.ids("ids_cleaned", cleaned ? tokenizer.encode(*cleaned) : fail(cleaned.error()));
  }
  const std::string name = "'" + text.substr(0, 60) + "'";
  const auto& f = check.failure;
  report.count(check.ok(), name, check.ok() ? "ids" : f.what, f.got, f.want);
}

}  // namespace

bool is_tokenizer_folder(const std::filesystem::path& folder) {
  return file::exists(folder / "expected.json") && file::exists(folder / "tokenizer_config.json");
}

GoldenReport check_tokenizers(const std::filesystem::path& folder) {
  GoldenReport report;
  const auto name = folder.filename().string();
  const auto expected = json::read_file(folder / "expected.json");
  if (!expected) return report.count(false, name, "expected.json", expected.error().line(), "JSON"), report;
  const auto tokenizer = text::load_tokenizer(folder);
  if (!tokenizer) return report.count(false, name, "load", tokenizer.error().line(), "a tokenizer"), report;
  const auto max_length = expected->value("max_length", int64_t{0});
  for (const auto& entry : expected->at("cases")) check_case(**tokenizer, max_length, entry, report);
  return report;
}

}  // namespace tessera::golden
