#include "models/flux/blocks.h"

#include "nn/attention.h"
#include "nn/modulation.h"

namespace tessera::models {
namespace {

constexpr double kEps = 1e-6;
constexpr int64_t kMlpRatio = 4;
constexpr FluxStreamNames kImageNames = {"to_q", "to_k", "to_v", "norm_q", "norm_k"};
constexpr FluxStreamNames kTextNames = {"add_q_proj", "add_k_proj", "add_v_proj", "norm_added_q", "norm_added_k"};

/// Large checkpoints run over float16's range in the residual stream; the reference clips there.
at::Tensor clip_half(at::Tensor x) {
  constexpr double kHalfMax = 65504;
  return x.scalar_type() == at::kHalf ? x.clamp_(-kHalfMax, kHalfMax) : x;
}

/// A layer that sees every token: nearly all of the work.
nn::Linear bulk(const weights::WeightMap& map, int64_t in, int64_t out) {
  return {map, in, out, nn::Bias::Required, nn::Rounding::Allowed};
}

FluxStream load_image_stream(const weights::WeightMap& map, const FluxConfig& c, const DoubleBlockNames& names) {
  return {nn::Linear(map.sub(names.image_modulation), c.dim(), 6 * c.dim()),
          FluxProjection(map.sub("attn"), c, kImageNames), bulk(map.sub("attn.to_out.0"), c.dim(), c.dim()),
          nn::FeedForward(map.sub(names.image_feed_forward), {c.dim(), kMlpRatio * c.dim(), c.dim()},
                          nn::Activation::GeluTanh)};
}

FluxStream load_text_stream(const weights::WeightMap& map, const FluxConfig& c, const DoubleBlockNames& names) {
  return {nn::Linear(map.sub(names.text_modulation), c.dim(), 6 * c.dim()),
          FluxProjection(map.sub("attn"), c, kTextNames), bulk(map.sub("attn.to_add_out"), c.dim(), c.dim()),
          nn::FeedForward(map.sub(names.text_feed_forward), {c.dim(), kMlpRatio * c.dim(), c.dim()},
                          nn::Activation::GeluTanh)};
}

/// The six vectors of a double-stream block's modulation, [B, D] each.
struct Modulation {
  at::Tensor shift_attention, scale_attention, gate_attention, shift_mlp, scale_mlp, gate_mlp;
};

Modulation modulation_of(const FluxStream& stream, const at::Tensor& silu_time) {
  const std::vector<at::Tensor> m = stream.modulation(silu_time).chunk(6, 1);
  return {m[0], m[1], m[2], m[3], m[4], m[5]};
}

/// The stream after attention: projected, gated, added, then the feed-forward part on top.
at::Tensor finish_stream(const FluxStream& stream, const Modulation& m, const at::Tensor& x,
                         const at::Tensor& attended) {
  const at::Tensor after_attention = nn::gated_add(x, m.gate_attention, stream.out(attended));
  const at::Tensor normed = nn::ada_layer_norm(after_attention, m.scale_mlp, m.shift_mlp, kEps);
  return nn::gated_add(after_attention, m.gate_mlp, stream.feed_forward(normed));
}

at::Tensor rotary_attention(at::Tensor query, at::Tensor key, const at::Tensor& value,
                            const FluxConditioning& conditioning, const nn::Scope& scope) {
  nn::AttentionCall call;
  call.query = nn::apply_rotary(std::move(query), conditioning.rotary);
  call.key = nn::apply_rotary(std::move(key), conditioning.rotary);
  call.value = value;
  return nn::attention(call, scope).flatten(2);
}

/// linear([a | b]) without joining the two, for float32 weights.
at::Tensor linear_of_pair(const nn::Linear& linear, const at::Tensor& a, const at::Tensor& b) {
  const int64_t split = a.size(-1);
  const at::Tensor rows_a = a.reshape({-1, split});
  const at::Tensor rows_b = b.reshape({-1, b.size(-1)});
  at::Tensor out = at::addmm(*linear.bias, rows_a, linear.weight.slice(1, 0, split).t());
  out.addmm_(rows_b, linear.weight.slice(1, split).t());
  return out.view({a.size(0), a.size(1), -1});
}

}  // namespace

FluxProjection::FluxProjection(const weights::WeightMap& map, const FluxConfig& c, const FluxStreamNames& names)
    : q(bulk(map.sub(names.q), c.dim(), c.dim())),
      k(bulk(map.sub(names.k), c.dim(), c.dim())),
      v(bulk(map.sub(names.v), c.dim(), c.dim())),
      norm_q(map.sub(names.norm_q), c.attention_head_dim, kEps),
      norm_k(map.sub(names.norm_k), c.attention_head_dim, kEps),
      head_dim(c.attention_head_dim) {}

FluxProjection::Heads FluxProjection::operator()(const at::Tensor& x) const {
  const auto heads = [&](const at::Tensor& t) { return t.view({t.size(0), t.size(1), -1, head_dim}); };
  return {norm_q(heads(q(x))), norm_k(heads(k(x))), heads(v(x))};
}

FluxDoubleBlock::FluxDoubleBlock(const weights::WeightMap& map, const FluxConfig& config, const DoubleBlockNames& names)
    : text_(load_text_stream(map, config, names)), image_(load_image_stream(map, config, names)) {}

void FluxDoubleBlock::forward(at::Tensor& text, at::Tensor& image, const FluxConditioning& conditioning,
                              const nn::Scope& scope) const {
  const Modulation mi = modulation_of(image_, conditioning.silu_time);
  const Modulation mt = modulation_of(text_, conditioning.silu_time);
  const FluxProjection::Heads hi =
      image_.projection(nn::ada_layer_norm(image, mi.scale_attention, mi.shift_attention, kEps));
  const FluxProjection::Heads ht =
      text_.projection(nn::ada_layer_norm(text, mt.scale_attention, mt.shift_attention, kEps));
  const at::Tensor attended = rotary_attention(at::cat({ht.query, hi.query}, 1), at::cat({ht.key, hi.key}, 1),
                                               at::cat({ht.value, hi.value}, 1), conditioning, scope);  // [B, T + S, D]
  const int64_t text_tokens = text.size(1);
  image = clip_half(finish_stream(image_, mi, image, attended.slice(1, text_tokens)));
  text = clip_half(finish_stream(text_, mt, text, attended.slice(1, 0, text_tokens)));
}

FluxSingleBlock::FluxSingleBlock(const weights::WeightMap& map, const FluxConfig& c)
    : modulation_(map.sub("norm.linear"), c.dim(), 3 * c.dim()),
      projection_(map.sub("attn"), c, kImageNames),
      mlp_(bulk(map.sub("proj_mlp"), c.dim(), kMlpRatio * c.dim())),
      out_(bulk(map.sub("proj_out"), (1 + kMlpRatio) * c.dim(), c.dim())) {}

at::Tensor FluxSingleBlock::forward(const at::Tensor& x, const FluxConditioning& conditioning,
                                    const nn::Scope& scope) const {
  const std::vector<at::Tensor> m = modulation_(conditioning.silu_time).chunk(3, 1);  // shift, scale, gate
  const at::Tensor normed = nn::ada_layer_norm(x, m[1], m[0], kEps);
  const FluxProjection::Heads h = projection_(normed);
  const at::Tensor attended = rotary_attention(h.query, h.key, h.value, conditioning, scope);
  return clip_half(nn::gated_add(x, m[2], project(attended, normed)));
}

at::Tensor FluxSingleBlock::project(const at::Tensor& attended, const at::Tensor& normed) const {
  const bool in_place = !out_.in_integers() && out_.weight.scalar_type() == at::kFloat;
  if (in_place && attended.scalar_type() == at::kFloat) {
    return linear_of_pair(out_, attended, mlp_.activated(nn::Activation::GeluTanh, normed));
  }
  const int64_t dim = attended.size(2);
  const at::Tensor joined = at::empty({attended.size(0), attended.size(1), (1 + kMlpRatio) * dim}, attended.options());
  joined.slice(2, 0, dim).copy_(attended);
  mlp_.into(normed, nn::Activation::GeluTanh, joined.slice(2, dim));
  return out_(joined);
}

}  // namespace tessera::models
