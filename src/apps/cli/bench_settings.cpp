#include "apps/cli/bench_settings.h"

#include <map>

#include "base/strings.h"

namespace tessera::cli {

Result<runtime::RuntimeOptions> lay_over(const std::string& against, runtime::RuntimeOptions options) {
  const std::map<std::string, std::string*, std::less<>> fields = {{"model", &options.model},
                                                                   {"dtype", &options.dtype},
                                                                   {"quality", &options.quality},
                                                                   {"attention-backend", &options.attention_backend},
                                                                   {"attention-canary", &options.attention_canary}};
  for (const std::string& entry : strings::split(against, ',')) {
    const size_t equals = entry.find('=');
    const auto field = fields.find(strings::trim(entry.substr(0, equals)));
    if (equals == std::string::npos || field == fields.end()) {
      return fail(ErrorCode::Usage, strings::join("--against has ", entry),
                  "KEY=VALUE,… with model, dtype, quality, attention-backend or attention-canary");
    }
    *field->second = strings::trim(entry.substr(equals + 1));
  }
  return options;
}

}  // namespace tessera::cli
