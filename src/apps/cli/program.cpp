#include "apps/cli/program.h"

#include <iostream>
#include <memory>
#include <vector>

#include "apps/cli/commands.h"
#include "apps/cli/config_file.h"
#include "apps/cli/version.h"
#include "base/check.h"
#include "base/log.h"

namespace tessera::cli {
namespace {

struct CommandOfProgram {
  Command command;
  std::unique_ptr<SharedOptions> shared;
};

using AddCommand = Command (*)(CLI::App&, SharedOptions&);

// A new subcommand is one row here.
const std::vector<AddCommand>& command_table() {
  static const std::vector<AddCommand> table = {
      add_bench_attention,  //
      add_bench_generate,   //
      add_generate,         //
      add_compare,          //
      add_doctor,           //
      add_explain,          //
      add_inspect,          //
      add_tokenize,         //
  };
  return table;
}

int report(const Error& error) {
  std::cerr << "error: " << error.line() << "\n";
  return exit_status(error.code);
}

/// Flags take their value from TESSERA_… when the command line does not give it.
void read_environment(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const auto& names = option->get_lnames();
    if (!names.empty() && names[0] != "help") option->envname(environment_name(names[0]));
  }
}

Status run(const Command& command, const SharedOptions& shared) {
  try {
    TESSERA_TRY_OK(log::set_level(shared.log_level));
    return command.action();
  } catch (const RuntimeFault& fault) {
    return fail(fault.error);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::OutOfMemory, "out of memory", "close other programs, or ask for a smaller size");
  } catch (const std::exception& e) {
    return fail(ErrorCode::Bug, std::string("internal error: ") + e.what(), "please report it");
  }
}

int parse_and_run(CLI::App& app, const std::vector<CommandOfProgram>& commands, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    return report({ErrorCode::Usage, e.what(), "see tessera --help"});
  }
  for (const auto& [command, shared] : commands) {
    if (!command.app->parsed()) continue;
    note_origins(*command.app, {argv + 1, argv + argc}, *shared);
    const Status status = run(command, *shared);
    return status ? 0 : report(status.error());
  }
  return report({ErrorCode::Usage, "no subcommand given", "see tessera --help"});
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App app("Tessera: pictures and videos from prompts, with attention that explains itself", "tessera");
  app.set_version_flag("--version", version_text());
  // Each command has options of its own: the parser fills in the environment for all commands, also for those that were
  // not called, and in one shared object that would overwrite what the command line says.
  std::vector<CommandOfProgram> commands;
  for (const AddCommand add : command_table()) {
    auto shared = std::make_unique<SharedOptions>();
    const Command command = add(app, *shared);
    read_environment(*command.app);
    commands.push_back({command, std::move(shared)});
  }
  add_config_file(app);
  return parse_and_run(app, commands, argc, argv);
}

}  // namespace tessera::cli
