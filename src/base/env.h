// Environment variables, read at the edge and passed down as data.
#pragma once

#include <optional>
#include <string>

namespace tessera::env {

/// The variable's text; nothing when unset or empty.
std::optional<std::string> get(const std::string& name);

}  // namespace tessera::env
