#include "base/json.h"

#include "base/file.h"
#include "base/strings.h"

namespace tessera::json {
namespace {

// No known file nests deeper than a dozen levels; code that walks a value recursively must not run out of stack.
constexpr int kDeepest = 200;

bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    if ((c == '[' || c == '{') && ++depth > kDeepest) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

}  // namespace

Result<Json> parse(std::string_view text, const std::string& origin) {
  if (is_too_deep(text)) {
    return fail(ErrorCode::BadFile, strings::join(origin, " is nested deeper than ", kDeepest, " levels"));
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::BadFile, strings::join(origin, " is not valid JSON (", e.what(), ")"));
  }
}

Result<Json> read_file(const std::filesystem::path& path) {
  TESSERA_TRY(const std::string text, file::read_text(path));
  return parse(text, path.string());
}

}  // namespace tessera::json
