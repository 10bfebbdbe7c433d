// How a subcommand plugs into the program: one file each, one add_… function, one row in program.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace tessera::cli {

/// Flags that mean the same for every subcommand; filled before a command runs.
struct SharedOptions {
  bool json = false;   ///< one JSON object on stdout and nothing else
  bool quiet = false;  ///< no progress, no notes
  std::string log_level = "warning";
  std::string device = "auto";               ///< auto | cpu | cuda[:N]; for explain also a preset or FILE.json
  int threads = 0;                           ///< 0: as many as the machine has
  std::string dtype = "auto";                ///< auto | fp32 | bf16 | fp16
  std::string quality = "exact";             ///< exact | high | fast
  std::string attention_backend;             ///< NAME, strict:NAME or prefer:NAME
  std::string component_attention_backends;  ///< KEY=NAME,…; KEY = component or component.role
  // Who set the last two: "flag", "environment" or "config".
  std::string attention_backend_origin = "flag";
  std::string component_attention_backends_origin = "flag";
};

/// What a command does once its flags are parsed. An Error becomes one "error: …" line and the exit status.
using Action = std::function<Status()>;

/// Registers a subcommand: adds it with its own flags to `app` and returns its action.
/// The function's static data must outlive parsing: keep options in a shared_ptr captured by the action.
struct Command {
  CLI::App* app = nullptr;
  Action action;
};

/// Adds --json, --quiet, --log-level, --threads, … to a subcommand (each only once per subcommand).
void add_shared_flags(CLI::App& command, SharedOptions& shared);

/// The subcommand `bench`, under which every benchmark is one; made by the first who asks.
CLI::App& bench_group(CLI::App& app);

/// Fills in the origins of the attention flags, once `command` is parsed. `arguments`: the command line's words.
void note_origins(const CLI::App& command, const std::vector<std::string>& arguments, SharedOptions& shared);

/// `VAR` of a flag: "--attention-backend" → "TESSERA_ATTENTION_BACKEND".
std::string environment_name(const std::string& flag);

}  // namespace tessera::cli
