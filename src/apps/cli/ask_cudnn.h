// What `explain --ask-cudnn` adds to each problem: the answer of the real cuDNN for the device, without a GPU.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "attention/policy/problem.h"
#include "base/json.h"
#include "base/result.h"
#include "platform/device_profile.h"

namespace tessera::cli {

/// Gives ("ask_cudnn", {"version", "supported", "engines", "text"}) for a problem on a device. A device that cuDNN has
/// no description of is answered "not supported", with the reason in the text.
using CudnnQuestion = std::function<std::optional<std::pair<std::string, OrderedJson>>(
    const attention::AttentionProblem& problem, const platform::DeviceProfile& device)>;

/// Errors: Unavailable when cuDNN, a libcuda or the headers at build time are missing; the hint says how to get them.
Result<CudnnQuestion> ask_cudnn_question();

}  // namespace tessera::cli
