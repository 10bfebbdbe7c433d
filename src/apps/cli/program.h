// The whole program as a function, so that tests run it as a user would.
#pragma once

namespace tessera::cli {

/// Parses the command line (then TESSERA_… and the config file), runs one subcommand; an Error becomes one line on
/// stderr. Returns: the exit status.
int run_program(int argc, const char* const* argv);

}  // namespace tessera::cli
