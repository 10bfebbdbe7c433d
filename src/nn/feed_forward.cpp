#include "nn/feed_forward.h"

namespace tessera::nn {

FeedForward::FeedForward(const weights::WeightMap& map, const FeedForwardShape& shape, Activation kind)
    : in(map.sub("net.0.proj"), shape.dim, shape.hidden, Bias::Required, Rounding::Allowed),
      out(map.sub("net.2"), shape.hidden, shape.out, Bias::Required, Rounding::Allowed),
      activation(kind) {}

at::Tensor FeedForward::operator()(const at::Tensor& x) const {
  return out(in.activated(activation, x));
}

}  // namespace tessera::nn
