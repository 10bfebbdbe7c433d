#include "models/vae/kl_blocks.h"

#include "nn/attention.h"

namespace tessera::models {
namespace {

constexpr double kEps = 1e-6;

at::Tensor norm_silu(const nn::GroupNorm& norm, const at::Tensor& x) {
  at::Tensor normed = norm(x);
  return at::silu_(normed);
}

weights::WeightMap either(const weights::WeightMap& map, const char* name, const char* old_name) {
  return map.has(std::string(old_name) + ".weight") ? map.sub(old_name) : map.sub(name);
}

}  // namespace

KlResnet::KlResnet(const weights::WeightMap& map, const KlBlockShape& s)
    : norm1(map.sub("norm1"), s.in, s.groups, kEps),
      conv1(map.sub("conv1"), {.in = s.in, .out = s.out}),
      norm2(map.sub("norm2"), s.out, s.groups, kEps),
      conv2(map.sub("conv2"), {.in = s.out, .out = s.out}) {
  if (s.in != s.out)
    shortcut.emplace(map.sub("conv_shortcut"), nn::ConvShape{.in = s.in, .out = s.out, .kernel = 1, .padding = 0});
}

at::Tensor KlResnet::operator()(const at::Tensor& x) const {
  at::Tensor out = conv2(norm_silu(norm2, conv1(norm_silu(norm1, x))));
  return out.add_(shortcut ? (*shortcut)(x) : x);
}

KlAttention::KlAttention(const weights::WeightMap& map, int64_t channels, int64_t groups)
    : norm(map.sub("group_norm"), channels, groups, kEps),
      q(either(map, "to_q", "query"), channels, channels),
      k(either(map, "to_k", "key"), channels, channels),
      v(either(map, "to_v", "value"), channels, channels),
      out(either(map, "to_out.0", "proj_attn"), channels, channels) {}

at::Tensor KlAttention::forward(const at::Tensor& x, const nn::Scope& scope) const {
  const at::Tensor tokens = norm(x.flatten(2)).transpose(1, 2);  // [B, HW, C]
  nn::AttentionCall call;
  call.query = q(tokens).unsqueeze(2);
  call.key = k(tokens).unsqueeze(2);
  call.value = v(tokens).unsqueeze(2);
  const at::Tensor attended = out(nn::attention(call, scope).flatten(2));
  return x + attended.transpose(1, 2).reshape(x.sizes());
}

}  // namespace tessera::models
