// The optional file of flags (--config, TESSERA_CONFIG): one key a flag, flat or in a section named as the subcommand.
#pragma once

#include <CLI/CLI.hpp>

namespace tessera::cli {

/// Adds --config to the program; the program's flags may then stand before or behind the subcommand's name. The
/// environment wins over the file, and the command line over both; a key that no subcommand knows is an error.
/// Call it when all subcommands are there.
void add_config_file(CLI::App& app);

}  // namespace tessera::cli
