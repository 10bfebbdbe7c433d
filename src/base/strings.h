// Text from values, for messages and small parsing jobs.
#pragma once

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::strings {

/// The parts written one after another as with <<.
template <typename... Parts>
std::string join(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// The items with a separator between them.
std::string list(const std::vector<std::string>& items, std::string_view separator = ", ");

/// Pieces between separators; empty pieces are kept, an empty text has none.
std::vector<std::string> split(std::string_view text, char separator);

/// ASCII lower case; other bytes are left alone.
std::string lower(std::string_view text);

/// Without ASCII white space at both ends.
std::string_view trim(std::string_view text);

}  // namespace tessera::strings
