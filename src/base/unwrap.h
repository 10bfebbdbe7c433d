// From Result to exception, where tensor code meets an edge.
#pragma once

#include <utility>

#include "base/check.h"
#include "base/result.h"

namespace tessera {

/// The value, or RuntimeFault with the error.
template <typename T>
T unwrap(Result<T> result) {
  if (!result) throw RuntimeFault(std::move(result).error());
  return *std::move(result);
}

}  // namespace tessera
