// JSON values (nlohmann) with errors as Result instead of exceptions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace tessera {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

namespace json {

/// Parses a whole text. Errors: BadFile with `origin` (a file's name or "line 3") and the position; also for deep
/// nesting.
Result<Json> parse(std::string_view text, const std::string& origin);

/// Reads and parses a file (optionally stored as NAME.gz, inflated). Errors: NotFound, Io, BadFile.
Result<Json> read_file(const std::filesystem::path& path);

/// The value at `key` as T, or `otherwise` when absent or null. Errors: BadFile when of another type.
template <typename T>
Result<T> value_or(const Json& object, const std::string& key, T otherwise) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return otherwise;
  try {
    return it->template get<T>();
  } catch (const nlohmann::json::exception& e) {
    return fail(ErrorCode::BadFile, "field '" + key + "' has the wrong type: " + it->dump().substr(0, 80));
  }
}

}  // namespace json
}  // namespace tessera
