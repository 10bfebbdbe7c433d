#include "apps/cli/interrupt.h"

#include <csignal>

namespace tessera::cli {
namespace {

// A signal handler can only reach static data; lock-free atomics are safe there.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int number) {
  interrupted.store(true);
  std::signal(number, SIG_DFL);
}

}  // namespace

InterruptScope::InterruptScope() {
  interrupted.store(false);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

InterruptScope::~InterruptScope() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

const std::atomic<bool>& InterruptScope::flag() const {
  return interrupted;
}

}  // namespace tessera::cli
