#include "nn/conv.h"

namespace tessera::nn {

Conv2d::Conv2d(const weights::WeightMap& map, const ConvShape& shape)
    : weight(map.get("weight", {shape.out, shape.in, shape.kernel, shape.kernel})),
      bias(map.get("bias", {shape.out})),
      stride(shape.stride),
      padding(shape.padding) {}

at::Tensor Conv2d::operator()(const at::Tensor& x) const {
  return at::conv2d(x, weight, bias, {stride, stride}, {padding, padding});
}

at::Tensor upsample_nearest_2x(const at::Tensor& x) {
  return at::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)}, 2.0, 2.0);
}

}  // namespace tessera::nn
