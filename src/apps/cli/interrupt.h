// Ctrl-C as a flag that the denoise loop looks at between steps.
#pragma once

#include <atomic>

namespace tessera::cli {

/// Installs handlers for SIGINT and SIGTERM while alive; the first signal sets the flag, a second one kills the process
/// as usual. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  const std::atomic<bool>& flag() const;
};

}  // namespace tessera::cli
