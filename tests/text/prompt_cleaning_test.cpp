#include "text/prompt_cleaning.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "text/html_unescape.h"
#include "text/mojibake.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace tessera::text {

TEST(CleanPrompt, GivesTheTextsAndIdsOfTheReference) {
  const auto folder = std::filesystem::path(TESSERA_SOURCE_DIR) / "tests/golden/tokenizers/umt5";
  const Json expected = json::read_file(folder / "expected.json").value();
  const auto tokenizer = load_tokenizer(folder).value();
  int64_t compared = 0;
  for (const auto& c : expected.at("cases")) {
    const auto cleaned = clean_prompt(c.at("text").get<std::string>()).value();
    EXPECT_EQ(cleaned, c.value("cleaned", c.at("text").get<std::string>()));
    if (!c.contains("ids_cleaned")) continue;
    EXPECT_EQ(tokenizer->encode(cleaned).value(), c.at("ids_cleaned").get<std::vector<int64_t>>()) << cleaned;
    ++compared;
  }
  EXPECT_GT(compared, 10);
}

TEST(CleanPrompt, RefusesTextThatIsNotUtf8) {
  EXPECT_EQ(clean_prompt("caf\xe9").error().code, ErrorCode::Usage);
}

// Expected values: ftfy 6.3.1.
TEST(FixText, UndoesWrongDecodings) {
  const struct {
    const char* text;
    const char* want;
  } cases[] = {
      {"cafÃ© Ã  la carte", "café à la carte"},
      {"âœ” No problems", "✔ No problems"},
      {"voilÃ le travail", "voilà le travail"},
      {"quotes â€œlike thisâ€� here", "quotes \"like this\xef\xbf\xbd here"},
      {"(à¸‡'âŒ£')à¸‡", "(ง'⌣')ง"},
      {"РїСЂРёРІРµС‚ РјРёСЂ", "привет мир"},
      {"‚Äúcurly‚Äù ‚Äì dash", "\"curly\" – dash"},
      {"Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "привет"},
      {"ðŸ˜€ and 中文", "😀 and 中文"},
      {"already right: café, Ærøskøbing, 日本語, 25°C", "already right: café, Ærøskøbing, 日本語, 25°C"},
      {"\xc3\xad\xc2\xa0\xc2\xbd\xc3\xad\xc2\xb8\xc2\x80", "😀"},
  };
  for (const auto& c : cases) EXPECT_EQ(fix_text(c.text).value(), c.want) << c.text;
}

TEST(FixText, MakesCharactersPlain) {
  const struct {
    const char* text;
    const char* want;
  } cases[] = {
      {"ﬂuﬃeﬆ", "fluffiest"},
      {"ＬＯＵＤ　ＮＯＩＳＥＳ", "LOUD NOISES"},
      {"Ｕﾀｰﾝ", "Uターン"},
      {"“here’s a test”", "\"here's a test\""},
      {"a\r\nb\rc\xe2\x80\xa8", "a\nb\nc\n"},
      {"\x1b[36;44mblue\x1b[0m", "blue"},
      {"\xef\xbb\xbf"
       "bell\x07",
       "bell"},
      {"e\xcc\x81", "é"},
  };
  for (const auto& c : cases) EXPECT_EQ(fix_text(c.text).value(), c.want) << c.text;
}

TEST(FixText, KeepsReferencesOfHtmlSource) {
  EXPECT_EQ(fix_text("&lt;tag&gt; P&EACUTE;REZ &nTILDE;").value(), "<tag> PÉREZ &nTILDE;");
  EXPECT_EQ(fix_text("a &amp; b\n<b>&lt;</b>\n&amp;").value(), "a & b\n<b>&lt;</b>\n&amp;");
}

TEST(UnescapeHtml, FollowsTheRulesOfHtml5) {
  const struct {
    const char32_t* text;
    const char32_t* want;
  } cases[] = {
      {U"&amp &copy2 &notit; &notin; &unknown; &; &#; &#x;", U"& ©2 ¬it; ∉ &unknown; &; &#; &#x;"},
      {U"&#65;&#x42;&#67 &#0; &#150; &#xD800; &#99999999999; &#1;", U"ABC \ufffd – \ufffd \ufffd "},
      {U"&NotEqualTilde;", U"≂̸"},
  };
  for (const auto& c : cases) EXPECT_EQ(to_utf8(unescape_html(c.text)), to_utf8(c.want));
}

TEST(Mojibake, FindsStretchesOfMisreadUtf8) {
  EXPECT_EQ(find_misread_utf8(U"ok Ã©Ã¨ ok"), (std::vector<std::pair<size_t, size_t>>{{3, 7}}));
  EXPECT_TRUE(looks_misdecoded(U"Ã©"));
  EXPECT_FALSE(looks_misdecoded(U"Ångström naïve façade"));
}

}  // namespace tessera::text
