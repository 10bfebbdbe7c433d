// The subcommands of the program; each stands in the file of its name.
#pragma once

#include "apps/cli/command.h"

namespace tessera::cli {

// One line per subcommand: declare it here, define it in its own file, add it to the table in program.cpp.
Command add_bench_attention(CLI::App& app, SharedOptions& shared);
Command add_bench_generate(CLI::App& app, SharedOptions& shared);
Command add_compare(CLI::App& app, SharedOptions& shared);
Command add_doctor(CLI::App& app, SharedOptions& shared);
Command add_explain(CLI::App& app, SharedOptions& shared);
Command add_generate(CLI::App& app, SharedOptions& shared);
Command add_inspect(CLI::App& app, SharedOptions& shared);
Command add_tokenize(CLI::App& app, SharedOptions& shared);

}  // namespace tessera::cli
