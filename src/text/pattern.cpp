#include "text/pattern.h"

#include <unicode/regex.h>
#include <unicode/utext.h>

#include "base/strings.h"

namespace tessera::text {

struct Pattern::Compiled {
  std::unique_ptr<icu::RegexPattern> pattern;
};

Result<Pattern> Pattern::compile(const std::string& expression) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError where{};
  auto compiled = std::make_shared<Compiled>();
  compiled->pattern.reset(
      icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(expression), UREGEX_MULTILINE, where, status));
  if (U_FAILURE(status) || !compiled->pattern) {
    return fail(ErrorCode::BadFile, strings::join("the expression '", expression.substr(0, 120),
                                                  "' is not understood (", u_errorName(status), ")"));
  }
  Pattern out;
  out.compiled_ = std::move(compiled);
  return out;
}

std::vector<std::pair<size_t, size_t>> Pattern::find_all(std::string_view utf8) const {
  std::vector<std::pair<size_t, size_t>> found;
  UErrorCode status = U_ZERO_ERROR;
  UText source = UTEXT_INITIALIZER;
  utext_openUTF8(&source, utf8.data(), static_cast<int64_t>(utf8.size()), &status);
  const std::unique_ptr<icu::RegexMatcher> matcher(compiled_->pattern->matcher(status));
  if (U_SUCCESS(status)) matcher->reset(&source);
  while (U_SUCCESS(status) && matcher->find(status) && U_SUCCESS(status)) {
    const auto begin = static_cast<size_t>(matcher->start64(status));
    const auto end = static_cast<size_t>(matcher->end64(status));
    if (end > begin) found.emplace_back(begin, end);
  }
  utext_close(&source);
  return found;
}

std::string Pattern::replace_all(std::string_view utf8, std::string_view replacement) const {
  std::string out;
  size_t done = 0;
  for (const auto& [begin, end] : find_all(utf8)) {
    out += utf8.substr(done, begin - done);
    out += replacement;
    done = end;
  }
  out += utf8.substr(done);
  return out;
}

}  // namespace tessera::text
