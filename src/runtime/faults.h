// Turns whatever a run throws into a typed error.
#pragma once

#include <functional>

#include "attention/guard.h"
#include "base/result.h"

namespace tessera::runtime {

/// Runs `work`; what it throws becomes its error (the types of attention/guard.h: memory is never taken for a bug).
template <typename T>
Result<T> caught(const std::function<T()>& work) {
  try {
    return work();
  } catch (...) {
    return fail(attention::convert_current_exception("generate"));
  }
}

}  // namespace tessera::runtime
