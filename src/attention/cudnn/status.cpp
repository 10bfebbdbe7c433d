#include "attention/cudnn/status.h"

namespace tessera::attention::cudnn {

ErrorCode error_code(FrontendCode code, std::string_view text) {
  const auto says = [text](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (says("ALLOC_FAILED") || says("ALLOCATION_FAILED")) return ErrorCode::OutOfMemory;
  // A failed launch is a failed launch, whatever else its message quotes.
  if (says("EXECUTION_FAILED") || says("INTERNAL_ERROR")) return ErrorCode::DeviceFault;
  if (says("NOT_SUPPORTED")) return ErrorCode::Unsupported;
  switch (code) {
    case FrontendCode::NotSupported:
      return ErrorCode::Unsupported;
    case FrontendCode::Failed:
      return ErrorCode::DeviceFault;
    case FrontendCode::Invalid:
      break;
  }
  return ErrorCode::Bug;
}

}  // namespace tessera::attention::cudnn
