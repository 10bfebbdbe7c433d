// The one place where exceptions of libraries become typed errors.
#pragma once

#include <exception>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace tessera::attention {

/// The code of a library's message: OutOfMemory, DeviceFault, Unsupported, or Bug when it says nothing we know.
ErrorCode classify_message(std::string_view message);

/// The exception in flight as an error; call it inside a catch block only.
/// Never takes memory exhaustion or a device failure for Unsupported.
Error convert_current_exception(std::string_view who);

/// Runs `body`; whatever it throws becomes an error that names `who`.
template <typename Body>
Status guarded(std::string_view who, Body&& body) {
  try {
    return body();
  } catch (...) {
    return fail(convert_current_exception(who));
  }
}

}  // namespace tessera::attention
