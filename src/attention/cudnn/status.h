// What a failure of cuDNN means to the attention engine; no cuDNN header is needed for it.
#pragma once

#include <string_view>

#include "base/error.h"

namespace tessera::attention::cudnn {

/// cudnn-frontend's error codes by what they say: the problem has no kernel, a library or the device failed, or the
/// graph and its pointers were put together wrongly.
enum class FrontendCode { NotSupported, Failed, Invalid };

/// Unsupported, DeviceFault or Bug; a status of cuDNN's own in the text (memory, not supported) goes before the code.
/// Unsupported lets another backend serve the call, so nothing that may have hurt the device maps to it.
ErrorCode error_code(FrontendCode code, std::string_view text);

}  // namespace tessera::attention::cudnn
