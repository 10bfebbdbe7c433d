// Plans a graph where cuDNN's headers were there at build time: the one switch of this folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/cudnn/devices.h"
#include "attention/cudnn/spec.h"
#include "base/result.h"

namespace tessera::attention::cudnn {

/// What cuDNN's heuristics answer, best first (see Graph::engines and Graph::plan_names).
struct PlannedGraph {
  std::vector<int64_t> engines;
  std::vector<std::string> plan_names;
};

/// Errors: Unavailable (built without the headers, or no cuDNN in this process), Unsupported with cuDNN's sentence.
Result<PlannedGraph> plan_graph(const Spec& spec, const DeviceDescription& device);

}  // namespace tessera::attention::cudnn
