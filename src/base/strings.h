// Text from values, for messages and small parsing jobs.
#pragma once

#include <cstdint>
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

/// The number with `digits` after the point: fixed(2.5, 2) is "2.50". (fmt is not used outside base: the torch package
/// brings its own fmt headers of another version, which would be found first.)
std::string fixed(double value, int digits);

/// The number with leading zeros to at least `width` digits.
std::string zero_padded(int64_t value, int width);

/// Without ASCII white space at both ends.
std::string_view trim(std::string_view text);

}  // namespace tessera::strings
