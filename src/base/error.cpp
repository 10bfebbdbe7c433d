#include "base/error.h"

#include <algorithm>

namespace tessera {

std::string_view code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage:
      return "usage";
    case ErrorCode::NotFound:
      return "not_found";
    case ErrorCode::BadFile:
      return "bad_file";
    case ErrorCode::Io:
      return "io";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::Unavailable:
      return "unavailable";
    case ErrorCode::Misuse:
      return "misuse";
    case ErrorCode::OutOfMemory:
      return "out_of_memory";
    case ErrorCode::DeviceFault:
      return "device_fault";
    case ErrorCode::NumericalFault:
      return "numerical_fault";
    case ErrorCode::Bug:
      return "bug";
    case ErrorCode::Cancelled:
      return "cancelled";
  }
  return "bug";
}

int exit_status(ErrorCode code) {
  if (code == ErrorCode::Usage) return 2;
  if (code == ErrorCode::Cancelled) return 130;
  return 1;
}

std::string Error::line() const {
  std::string text = hint.empty() ? what : what + "; " + hint;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace tessera
