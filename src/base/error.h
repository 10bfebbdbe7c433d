// What can go wrong, as plain data: every layer reports failures with this one type.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// The kinds of failure. `docs/attention.md` says what the attention engine does on each.
enum class ErrorCode {
  Usage,           ///< the request itself is wrong (flags, sizes, steps): exit status 2
  NotFound,        ///< a file, folder, model or preset is not there
  BadFile,         ///< a file is there but its content is wrong
  Io,              ///< the system refused to read or write
  Unsupported,     ///< this backend or model cannot do this problem; another one may
  Unavailable,     ///< the part exists but not on this machine or in this build
  Misuse,          ///< the caller broke a precondition that it could have checked
  OutOfMemory,     ///< not enough memory; never taken for Unsupported
  DeviceFault,     ///< the device failed; its state is not to be trusted
  NumericalFault,  ///< a kernel returned garbage (NaN, untouched output, beyond its error bound)
  Bug,             ///< a broken invariant of ours
  Cancelled,       ///< the user asked to stop: exit status 130
};

/// The name of a code as it stands in JSON, e.g. "out_of_memory".
std::string_view code_name(ErrorCode code);

/// The process's exit status for a failure of this kind: 2 wrong usage, 130 cancelled, else 1.
int exit_status(ErrorCode code);

/// One failure: what happened with its values, and what the reader can do about it.
struct Error {
  ErrorCode code = ErrorCode::Bug;
  std::string what;
  std::string hint;

  /// "WHAT; HINT" on one line; newlines inside either part become spaces.
  std::string line() const;
};

}  // namespace tessera
