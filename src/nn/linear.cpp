#include "nn/linear.h"

namespace tessera::nn {
namespace {

std::optional<at::Tensor> load_bias(const weights::WeightMap& map, int64_t out, Bias bias) {
  if (bias == Bias::None) return std::nullopt;
  if (bias == Bias::IfStored) return map.find("bias", {out});
  return map.get("bias", {out});
}

}  // namespace

Linear::Linear(const weights::WeightMap& map, int64_t in, int64_t out, Bias bias_kind)
    : weight(map.get("weight", {out, in})), bias(load_bias(map, out, bias_kind)) {}

}  // namespace tessera::nn
