#include "apps/cli/command.h"

#include <algorithm>

#include "base/env.h"

namespace tessera::cli {
namespace {

/// The parser takes a value from the command line, else from the environment, else from the config file.
std::string origin_of(const std::string& flag, const std::vector<std::string>& arguments) {
  const auto names_it = [&](const std::string& word) { return word == flag || word.starts_with(flag + "="); };
  if (std::ranges::any_of(arguments, names_it)) return "flag";
  const auto value = env::get(environment_name(flag));
  return value && !value->empty() ? "environment" : "config";
}

}  // namespace

void note_origins(const CLI::App& command, const std::vector<std::string>& arguments, SharedOptions& shared) {
  const std::pair<const char*, std::string*> flags[] = {
      {"--attention-backend", &shared.attention_backend_origin},
      {"--component-attention-backends", &shared.component_attention_backends_origin}};
  for (const auto& [flag, origin] : flags) {
    const CLI::Option* option = command.get_option_no_throw(flag);
    if (option != nullptr && option->count() > 0) *origin = origin_of(flag, arguments);
  }
}

std::string environment_name(const std::string& flag) {
  std::string name = "TESSERA_";
  for (const char c : flag.substr(std::min(flag.find_first_not_of('-'), flag.size()))) {
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

CLI::App& bench_group(CLI::App& app) {
  const auto found = app.get_subcommands([](const CLI::App* other) { return other->get_name() == "bench"; });
  CLI::App* bench = found.empty() ? app.add_subcommand("bench", "measure parts of the program") : found.front();
  bench->require_subcommand(1);
  return *bench;
}

void add_shared_flags(CLI::App& command, SharedOptions& shared) {
  command.add_flag("--json", shared.json, "print one JSON object on stdout and nothing else");
  command.add_flag("--quiet", shared.quiet, "no progress and no notes");
  command.add_option("--log-level", shared.log_level, "debug, info, warning, error or off");
  command.add_option("--device", shared.device, "auto, cpu or cuda[:N]");
  command.add_option("--threads", shared.threads, "CPU threads; 0: all that the machine has")
      ->check(CLI::Range(0, 4096));
  command.add_option("--dtype", shared.dtype, "auto, fp32, bf16 or fp16");
  command.add_option("--quality", shared.quality, "exact, high or fast")
      ->check(CLI::IsMember({"exact", "high", "fast"}));
  command.add_option("--attention-backend", shared.attention_backend, "NAME, strict:NAME or prefer:NAME");
  command.add_option("--component-attention-backends", shared.component_attention_backends,
                     "KEY=NAME,…; KEY is a component or component.role");
}

}  // namespace tessera::cli
