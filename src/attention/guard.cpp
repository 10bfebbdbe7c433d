// Which exception of LibTorch, CUDA or the C++ library means what.
#include "tensor/aten.h"

#include "attention/guard.h"

#include <new>

#include "base/check.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

struct Phrase {
  const char* text;  // lower case
  ErrorCode code;
};

// First match wins: exhausted memory before device failures before "not supported", because a failing device's message
// may well hold the word "supported", and taking it for a refusal would hide the failure and latch the backend.
constexpr Phrase kPhrases[] = {
    {"out of memory", ErrorCode::OutOfMemory},
    {"can't allocate memory", ErrorCode::OutOfMemory},
    {"not enough memory", ErrorCode::OutOfMemory},
    {"alloc_failed", ErrorCode::OutOfMemory},
    {"allocation_failed", ErrorCode::OutOfMemory},  // cuDNN 9's name, inside an INTERNAL_ERROR
    {"bad_alloc", ErrorCode::OutOfMemory},
    {"no kernel image is available", ErrorCode::Unsupported},  // built for other devices; the context stays usable
    {"no execution plans support", ErrorCode::Unsupported},
    {"not_supported", ErrorCode::Unsupported},
    {"cuda error", ErrorCode::DeviceFault},
    {"hip error", ErrorCode::DeviceFault},
    {"illegal memory access", ErrorCode::DeviceFault},
    {"device-side assert", ErrorCode::DeviceFault},
    {"execution_failed", ErrorCode::DeviceFault},
    {"internal_error", ErrorCode::DeviceFault},
    {"uncorrectable ecc", ErrorCode::DeviceFault},
    {"nccl error", ErrorCode::DeviceFault},
    {"no available kernel", ErrorCode::Unsupported},
    {"not implemented", ErrorCode::Unsupported},  // LibTorch's words where a kernel lacks a dtype; see the test
    {"not supported", ErrorCode::Unsupported},
    {"unsupported", ErrorCode::Unsupported},
    {"only supports", ErrorCode::Unsupported},
    {"doesn't support", ErrorCode::Unsupported},
    {"does not support", ErrorCode::Unsupported},
};

const char* hint_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::OutOfMemory:
      return "use a smaller size, fewer frames, --vae-tiling, or a component placed on the CPU";
    case ErrorCode::DeviceFault:
      return "restart the program; if it comes back, choose another --attention-backend";
    case ErrorCode::Unsupported:
      return "another backend serves this problem: --attention-backend auto";
    case ErrorCode::Usage:
    case ErrorCode::NotFound:
    case ErrorCode::BadFile:
    case ErrorCode::Io:
    case ErrorCode::Unavailable:
    case ErrorCode::Misuse:
    case ErrorCode::NumericalFault:
    case ErrorCode::Bug:
    case ErrorCode::Cancelled:
      return "please report it with the command line";
  }
  return "";
}

Error make(ErrorCode code, std::string_view who, std::string_view message) {
  // Libraries append a backtrace after the first line.
  const auto first_line = message.substr(0, message.find('\n'));
  return {code, strings::join(who, ": ", first_line), hint_for(code)};
}

}  // namespace

ErrorCode classify_message(std::string_view message) {
  const std::string lower = strings::lower(message);
  for (const auto& phrase : kPhrases) {
    if (lower.find(phrase.text) != std::string::npos) return phrase.code;
  }
  return ErrorCode::Bug;
}

Error convert_current_exception(std::string_view who) {
  try {
    throw;
  } catch (const RuntimeFault& e) {
    return e.error;
  } catch (const std::bad_alloc& e) {
    return make(ErrorCode::OutOfMemory, who, "the memory of the host is exhausted");
  } catch (const c10::OutOfMemoryError& e) {
    return make(ErrorCode::OutOfMemory, who, e.what_without_backtrace());
  } catch (const c10::NotImplementedError& e) {
    return make(ErrorCode::Unsupported, who, e.what_without_backtrace());
  } catch (const c10::AcceleratorError& e) {
    const ErrorCode code = classify_message(e.what_without_backtrace());
    return make(code == ErrorCode::Bug ? ErrorCode::DeviceFault : code, who, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    return make(classify_message(e.what_without_backtrace()), who, e.what_without_backtrace());
  } catch (const Bug& e) {
    return make(ErrorCode::Bug, who, e.what());
  } catch (const std::exception& e) {
    return make(classify_message(e.what()), who, e.what());
  } catch (...) {
    return make(ErrorCode::Bug, who, "an exception of an unknown type");
  }
}

}  // namespace tessera::attention
