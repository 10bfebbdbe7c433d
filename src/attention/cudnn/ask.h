// What the real cuDNN says about a problem on any described device, without a GPU: for `explain --ask-cudnn` and tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attention/cudnn/spec.h"
#include "base/json.h"
#include "base/result.h"

namespace tessera::attention::cudnn {

struct Answer {
  std::string version;  ///< of the library that answered, "9.19.0"
  bool supported = false;
  std::vector<int64_t> engines;  ///< 8 = sm80, 9 = sm90, 10 = sm100, 11 = sm120 kernels, cuDNN's preferred one first
  std::vector<std::string> plans;
  std::string text;  ///< one sentence: what was asked of which device and why not
};

/// Asks the loaded library. A refusal is an answer (supported = false), not an error.
/// Errors: NotFound for a device without description; Unavailable without cuDNN 9.8, libcuda or the headers at build.
Result<Answer> ask(const Spec& spec, std::string_view device);

/// The same for a policy problem with dense tensors.
Result<Answer> ask(const AttentionProblem& problem, std::string_view device);

/// {"version", "supported", "engines", "text"}.
OrderedJson to_json(const Answer& answer);

}  // namespace tessera::attention::cudnn
