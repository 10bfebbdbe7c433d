// Where the golden models of the tests lie, and short cuts to open and run them.
#pragma once

#include "tensor/aten.h"

#include <filesystem>

#include "base/unwrap.h"
#include "models/catalog.h"
#include "weights/checkpoint.h"
#include "weights/tensors.h"

namespace tessera::models {

inline std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(TESSERA_SOURCE_DIR) / "tests" / "golden" / name;
}

inline std::filesystem::path flux_model(const std::string& which = "flux1-dev") {
  return golden("pipelines/" + which) / "model";
}

/// All tensors of a file of tests/golden/modules.
inline weights::WeightMap golden_tensors(const std::string& name) {
  const auto checkpoint = unwrap(weights::open_file(golden("modules/" + name + ".safetensors")));
  return unwrap(weights::to_weight_map(checkpoint, std::nullopt));
}

/// max |got - want| in units of the root mean square of want.
inline double deviation(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor expected = want.to(at::kDouble);
  const double worst = (got.to(at::kDouble) - expected).abs().max().item<double>();
  return worst / std::sqrt(expected.square().mean().item<double>());
}

/// Keeps every recorded tensor by name.
class MapTrace final : public tensor::Trace {
 public:
  void record(const std::string& name, const at::Tensor& value) override { kept[name] = value.clone(); }
  std::map<std::string, at::Tensor> kept;
};

/// Completes and runs a request.
inline pipeline::Media generate(const std::filesystem::path& model, const pipeline::GenerateRequest& request,
                                pipeline::Context& context) {
  const auto opened = unwrap(open_pipeline(model));
  return opened->generate(unwrap(opened->complete(request)), context);
}

}  // namespace tessera::models
