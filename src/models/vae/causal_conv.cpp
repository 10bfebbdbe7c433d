#include "models/vae/causal_conv.h"

namespace tessera::models {

CausalConv3d::CausalConv3d(const weights::WeightMap& map, const CausalShape& s)
    : weight(map.get("weight", {s.out, s.in, s.time_kernel, s.space_kernel, s.space_kernel})),
      bias(map.get("bias", {s.out})) {}

at::Tensor CausalConv3d::operator()(const at::Tensor& x, FrameCache* cache) const {
  const int64_t margin = weight.size(3) / 2;
  const int64_t back = weight.size(2) - 1;
  if (back == 0) return at::conv3d(x, weight, bias, 1, {0, margin, margin});
  at::Tensor local;
  at::Tensor& before = cache != nullptr ? cache->slot() : local;
  if (!before.defined()) before = at::zeros({x.size(0), x.size(1), back, x.size(3), x.size(4)}, x.options());
  const at::Tensor seen = at::cat({before, x}, 2);  // [B, in, back + F, H, W]
  // A copy, not a view: a view would keep all of `seen` alive until the next chunk.
  before = seen.slice(2, seen.size(2) - back).clone();
  return at::conv3d(seen, weight, bias, 1, {0, margin, margin});
}

}  // namespace tessera::models
