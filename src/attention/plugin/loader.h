// Loads attention plugins: first in a child process, so that a library that crashes while loading takes nothing along.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attention/plugin/plugin_abi.h"
#include "base/result.h"

namespace tessera::attention::plugin {

/// A loaded plugin. The library stays loaded until the process ends: its kernels may have left threads behind.
struct Plugin {
  std::filesystem::path path;
  std::string name;
  std::string version;
  const tessera_attention_plugin* table = nullptr;
};

/// Errors: NotFound; Unavailable with what is wrong with the library: it crashes or hangs while loading, lacks the
/// symbol, speaks another ABI version, throws, or returns an incomplete table.
Result<Plugin> load(const std::filesystem::path& path);

/// The plugins named by TESSERA_ATTENTION_PLUGINS (paths separated by ':'), in that order.
std::vector<Result<Plugin>> load_from_environment();

}  // namespace tessera::attention::plugin
