// The second setting of `bench generate`: what differs from the first.
#pragma once

#include <string>

#include "base/result.h"
#include "runtime/options.h"

namespace tessera::cli {

/// `options` with the KEY=VALUE,… of --against laid over it. Keys: model, dtype, quality, attention-backend,
/// attention-canary. Errors: Usage for another key or an entry without "=".
Result<runtime::RuntimeOptions> lay_over(const std::string& against, runtime::RuntimeOptions options);

}  // namespace tessera::cli
