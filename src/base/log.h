// Log lines for people, on stderr. The level comes from --log-level; nothing is logged at static initialisation.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera::log {

/// Sets the lowest level that is printed: "debug", "info", "warning", "error" or "off". Errors: Usage.
Status set_level(std::string_view level);

void debug(std::string_view text);
void info(std::string_view text);
void warning(std::string_view text);

}  // namespace tessera::log
