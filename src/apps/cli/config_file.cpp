#include "apps/cli/config_file.h"

#include "apps/cli/command.h"
#include "base/env.h"

namespace tessera::cli {
namespace {

using Items = std::vector<CLI::ConfigItem>;

bool has_option(const CLI::App& app, const std::string& name) {
  return app.get_option_no_throw("--" + name) != nullptr;
}

/// One copy of a flat key for every subcommand that has such a flag.
void spread(const CLI::App& app, const CLI::ConfigItem& item, std::vector<std::string>& path, Items& out) {
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    path.push_back(sub->get_name());
    if (has_option(*sub, item.name)) {
      out.push_back(item);
      out.back().parents = path;
    }
    spread(*sub, item, path, out);
    path.pop_back();
  }
}

/// Flags of the program may stand behind its subcommands at any depth.
void let_through(CLI::App& app) {
  for (CLI::App* sub : app.get_subcommands(nullptr)) {
    sub->fallthrough();
    let_through(*sub);
  }
}

/// CLI11 lets the file win over the environment: keys whose variable is set are left out here.
class FileOfFlags : public CLI::ConfigTOML {
 public:
  explicit FileOfFlags(const CLI::App& app) : app_(app) {}

  Items from_config(std::istream& input) const override {
    Items out;
    for (const CLI::ConfigItem& item : CLI::ConfigTOML::from_config(input)) {
      if (env::get(environment_name(item.name))) continue;
      const size_t before = out.size();
      std::vector<std::string> path;
      if (item.parents.empty() && !has_option(app_, item.name)) spread(app_, item, path, out);
      if (out.size() == before) out.push_back(item);
    }
    return out;
  }

 private:
  const CLI::App& app_;
};

}  // namespace

void add_config_file(CLI::App& app) {
  const auto named = env::get("TESSERA_CONFIG");  // the parser does not look for this option's variable
  app.set_config("--config", named.value_or(""),
                 "a file of flags (INI/TOML); the command line and the environment win over it", named.has_value());
  app.config_formatter(std::make_shared<FileOfFlags>(app));
  app.allow_config_extras(CLI::config_extras_mode::error);
  let_through(app);
}

}  // namespace tessera::cli
