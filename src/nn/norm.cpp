#include "nn/norm.h"

namespace tessera::nn {

LayerNorm::LayerNorm(const weights::WeightMap& map, int64_t dim, double epsilon)
    : weight(map.get("weight", {dim})), bias(map.find("bias", {dim})), eps(epsilon) {}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x, {weight.size(0)}, weight, bias, eps);
}

RmsNorm::RmsNorm(const weights::WeightMap& map, int64_t dim, double epsilon)
    : weight(map.get("weight", {dim})), eps(epsilon) {}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  if (x.scalar_type() == weight.scalar_type()) return at::rms_norm(x, {weight.size(0)}, weight, eps);
  // A residual stream that is wider than the weights: norm in its type, result in the weights'.
  return at::rms_norm(x, {weight.size(0)}, weight.to(x.scalar_type()), eps).to(weight.scalar_type());
}

GroupNorm::GroupNorm(const weights::WeightMap& map, int64_t channels, int64_t group_count, double epsilon)
    : weight(map.get("weight", {channels})), bias(map.get("bias", {channels})), groups(group_count), eps(epsilon) {}

at::Tensor GroupNorm::operator()(const at::Tensor& x) const {
  return at::group_norm(x, groups, weight, bias, eps);
}

at::Tensor layer_norm(const at::Tensor& x, double eps) {
  return at::layer_norm(x, {x.size(-1)}, {}, {}, eps);
}

}  // namespace tessera::nn
