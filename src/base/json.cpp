#include "base/json.h"

#include "base/file.h"
#include "base/strings.h"

namespace tessera::json {

Result<Json> parse(std::string_view text, const std::string& origin) {
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
