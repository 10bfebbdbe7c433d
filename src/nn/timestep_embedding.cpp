#include "nn/timestep_embedding.h"

namespace tessera::nn {

at::Tensor sinusoidal_embedding(const at::Tensor& t, const SinusoidOptions& options) {
  const int64_t half = options.dim / 2;
  const auto f32 = t.options().dtype(at::kFloat);
  const at::Tensor exponent = at::arange(half, f32) * -std::log(options.max_period) /
                              (static_cast<double>(half) - options.downscale_freq_shift);
  at::Tensor angle = t.to(at::kFloat).unsqueeze(1) * exponent.exp().unsqueeze(0);  // [N, half]
  if (options.scale != 1) angle = angle * options.scale;
  const at::Tensor first = options.cos_first ? angle.cos() : angle.sin();
  const at::Tensor second = options.cos_first ? angle.sin() : angle.cos();
  at::Tensor out = at::cat({first, second}, -1);
  if (options.dim % 2 == 1) out = at::constant_pad_nd(out, {0, 1});
  return out;
}

TimestepEmbedding::TimestepEmbedding(const weights::WeightMap& map, int64_t in, int64_t dim)
    : linear_1(map.sub("linear_1"), in, dim), linear_2(map.sub("linear_2"), dim, dim) {}

at::Tensor TimestepEmbedding::operator()(const at::Tensor& x) const {
  at::Tensor hidden = linear_1(x);
  return linear_2(at::silu_(hidden));
}

}  // namespace tessera::nn
