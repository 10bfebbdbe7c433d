// Attention kernels that were loaded as plugins, behind the engine's interface.
#pragma once

#include <vector>

#include "attention/backend.h"
#include "attention/plugin/loader.h"
#include "attention/policy/backend_id.h"

namespace tessera::attention {

/// Asks its plugins in order; the first that accepts the problem runs it.
/// Errors: Unsupported with every plugin's sentence; what a plugin's status says; DeviceFault when one throws.
class PluginBackend : public AttentionBackend {
 public:
  explicit PluginBackend(std::vector<plugin::Plugin> plugins) : plugins_(std::move(plugins)) {}
  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override;

 private:
  std::vector<plugin::Plugin> plugins_;
};

/// The row that a plugin serves: the catalog's row of its name (sage_attn, fa4, …), else BackendId::Plugin.
BackendId plugin_row(const plugin::Plugin& plugin);

/// The process's plugins (TESSERA_ATTENTION_PLUGINS), loaded on the first call; a bad one is a warning.
const std::vector<plugin::Plugin>& loaded_plugins();

/// Those that serve a row.
std::vector<plugin::Plugin> plugins_for(BackendId id);

}  // namespace tessera::attention
