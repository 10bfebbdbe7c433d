#include "models/wan/blocks.h"

#include "nn/attention.h"
#include "nn/modulation.h"

namespace tessera::models {
namespace {

/// x + gate * y in float32, in x's dtype.
at::Tensor gated_add(const at::Tensor& x, const at::Tensor& gate, const at::Tensor& y) {
  return at::addcmul(x.to(at::kFloat), gate, y.to(at::kFloat)).to(x.scalar_type());
}

}  // namespace

at::Tensor wan_modulated_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift, double eps) {
  const at::Tensor wide = x.to(at::kFloat);
  if (scale.size(1) == 1) {  // one timestep for all tokens: the norm's single pass applies the factors too
    return nn::ada_layer_norm(wide, scale.squeeze(1), shift.squeeze(1), eps).to(x.scalar_type());
  }
  return nn::modulate(nn::layer_norm(wide, eps), scale, shift).to(x.scalar_type());
}

WanAttention::WanAttention(const weights::WeightMap& map, const WanConfig& c)
    : q(map.sub("to_q"), c.dim(), c.dim(), nn::Bias::Required, nn::Rounding::Allowed),
      k(map.sub("to_k"), c.dim(), c.dim(), nn::Bias::Required, nn::Rounding::Allowed),
      v(map.sub("to_v"), c.dim(), c.dim(), nn::Bias::Required, nn::Rounding::Allowed),
      out(map.sub("to_out.0"), c.dim(), c.dim(), nn::Bias::Required, nn::Rounding::Allowed),
      norm_q(map.sub("norm_q"), c.dim(), c.eps),
      norm_k(map.sub("norm_k"), c.dim(), c.eps),
      head_dim(c.attention_head_dim) {}

at::Tensor WanAttention::self(const at::Tensor& x, const nn::RotaryTable& rotary, const nn::Scope& scope) const {
  nn::AttentionCall call;
  call.query = nn::apply_rotary(heads(norm_q(q(x))), rotary);
  call.key = nn::apply_rotary(heads(norm_k(k(x))), rotary);
  call.value = heads(v(x));
  return out(nn::attention(call, scope).flatten(2));
}

at::Tensor WanAttention::cross(const at::Tensor& x, const at::Tensor& text, const nn::Scope& scope) const {
  nn::AttentionCall call;
  call.query = heads(norm_q(q(x)));
  call.key = heads(norm_k(k(text)));
  call.value = heads(v(text));
  call.role = nn::AttentionRole::Cross;
  return out(nn::attention(call, scope).flatten(2));
}

WanBlock::WanBlock(const weights::WeightMap& map, const WanConfig& c)
    : self_(map.sub("attn1"), c),
      cross_(map.sub("attn2"), c),
      feed_forward_(map.sub("ffn"), {c.dim(), c.ffn_dim, c.dim()}, nn::Activation::GeluTanh),
      table_(map.get("scale_shift_table", {1, 6, c.dim()}).to(at::kFloat)),
      eps_(c.eps) {
  if (c.cross_attn_norm) cross_norm_.emplace(map.sub("norm2"), c.dim(), c.eps);
}

at::Tensor WanBlock::forward(const at::Tensor& x, const WanConditioning& c, const nn::Scope& scope) const {
  const at::Tensor factors = table_ + c.time.projection;  // [U, 6, D]
  // shift, scale, gate of the self-attention, then of the feed-forward part
  const auto factor = [&](int64_t i) { return c.time.per_token(factors.select(1, i)); };
  at::Tensor h =
      gated_add(x, factor(2), self_.self(wan_modulated_norm(x, factor(1), factor(0), eps_), c.rotary, scope));
  h = h + cross_.cross(cross_norm_ ? (*cross_norm_)(h) : h, c.text, scope);
  return gated_add(h, factor(5), feed_forward_(wan_modulated_norm(h, factor(4), factor(3), eps_)));
}

}  // namespace tessera::models
