// Result<T>: a value or an Error, for every edge where failing is ordinary. C++23: not for headers that a .cu includes.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "base/error.h"

namespace tessera {

template <typename T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

/// Makes the failure to return: `return fail(ErrorCode::BadFile, strings::join(...), "fetch it again");`
inline std::unexpected<Error> fail(ErrorCode code, std::string what, std::string hint = {}) {
  return std::unexpected<Error>(Error{code, std::move(what), std::move(hint)});
}

inline std::unexpected<Error> fail(Error error) {
  return std::unexpected<Error>(std::move(error));
}

}  // namespace tessera

#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)

/// `TESSERA_TRY(auto x, f());` declares x from f()'s value or returns f()'s error from the enclosing function.
#define TESSERA_TRY(declaration, ...)                                                     \
  auto TESSERA_CONCAT(tessera_result_, __LINE__) = (__VA_ARGS__);                         \
  if (!TESSERA_CONCAT(tessera_result_, __LINE__))                                         \
    return ::tessera::fail(std::move(TESSERA_CONCAT(tessera_result_, __LINE__)).error()); \
  declaration = std::move(*TESSERA_CONCAT(tessera_result_, __LINE__))

/// `TESSERA_TRY_OK(f());` for a Status: returns f()'s error or goes on.
#define TESSERA_TRY_OK(...)                                      \
  do {                                                           \
    if (auto tessera_status = (__VA_ARGS__); !tessera_status)    \
      return ::tessera::fail(std::move(tessera_status).error()); \
  } while (false)
