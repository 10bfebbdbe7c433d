// Preconditions inside the program: a broken one is a bug of ours and throws.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/strings.h"

namespace tessera {

/// A broken invariant. Caught once, in runtime/generator, and shown as one error line.
class Bug : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A failure of the run (out of memory, device fault, cancelled) that crosses tensor code as an exception.
class RuntimeFault : public std::runtime_error {
 public:
  explicit RuntimeFault(Error e) : std::runtime_error(e.line()), error(std::move(e)) {}
  Error error;
};

}  // namespace tessera

/// `TESSERA_CHECK(cond, "msg ", value, ...)` throws Bug with the message and the condition's text.
#define TESSERA_CHECK(condition, ...)                                                                   \
  do {                                                                                                  \
    if (!(condition)) throw ::tessera::Bug(::tessera::strings::join(__VA_ARGS__, " [" #condition "]")); \
  } while (false)
