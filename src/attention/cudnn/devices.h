// Descriptions of devices that cuDNN accepts in place of a real one, for asking it about machines that are not here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera::attention::cudnn {

struct DeviceDescription {
  std::string name;        ///< the file it came from: "h200"
  std::string json;        ///< cuDNN's own keys
  int sm = 0;              ///< 90 for compute capability 9.0
  std::string stands_for;  ///< empty, or the preset that it answers for ("h100")
};

/// The description of a preset: a100, b200, b300, h100 (with h200's properties), h200, l40s, rtx5090, t4.
/// Errors: NotFound with the list of names.
Result<DeviceDescription> describe_device(std::string_view preset);

/// Every name that has a description of its own, sorted.
std::vector<std::string> described_devices();

}  // namespace tessera::attention::cudnn
