#include "models/z_image/block.h"

#include "nn/activation.h"
#include "nn/attention.h"
#include "nn/modulation.h"

namespace tessera::models {
namespace {

constexpr double kQkEps = 1e-5;  // fixed in the reference, whatever norm_eps says

int64_t hidden_size(const ZImageConfig& c) {
  // As the reference rounds it: floating point first, then down.
  return static_cast<int64_t>(static_cast<double>(c.dim) / 3 * 8);
}

nn::Linear plain(const weights::WeightMap& map, int64_t in, int64_t out) {
  return nn::Linear(map, in, out, nn::Bias::None, nn::Rounding::Allowed);
}

}  // namespace

ZImageBlock::ZImageBlock(const weights::WeightMap& map, const ZImageConfig& c, bool modulated)
    : heads_(c.n_heads),
      q_(plain(map.sub("attention.to_q"), c.dim, c.dim)),
      k_(plain(map.sub("attention.to_k"), c.dim, c.dim)),
      v_(plain(map.sub("attention.to_v"), c.dim, c.dim)),
      out_(plain(map.sub("attention.to_out.0"), c.dim, c.dim)),
      w1_(plain(map.sub("feed_forward.w1"), c.dim, hidden_size(c))),
      w2_(plain(map.sub("feed_forward.w2"), hidden_size(c), c.dim)),
      w3_(plain(map.sub("feed_forward.w3"), c.dim, hidden_size(c))),
      attention_norm1_(map.sub("attention_norm1"), c.dim, c.norm_eps),
      attention_norm2_(map.sub("attention_norm2"), c.dim, c.norm_eps),
      ffn_norm1_(map.sub("ffn_norm1"), c.dim, c.norm_eps),
      ffn_norm2_(map.sub("ffn_norm2"), c.dim, c.norm_eps) {
  if (c.qk_norm) {
    norm_q_.emplace(map.sub("attention.norm_q"), c.head_dim(), kQkEps);
    norm_k_.emplace(map.sub("attention.norm_k"), c.head_dim(), kQkEps);
  }
  if (modulated) {
    modulation_.emplace(map.sub("adaLN_modulation.0"), std::min(c.dim, kZImageTimeChannels), 4 * c.dim);
  }
}

at::Tensor ZImageBlock::attend(const at::Tensor& normed, const ZImageSequence& sequence, const nn::Scope& scope) const {
  const auto heads = [&](const at::Tensor& t) { return t.view({t.size(0), t.size(1), heads_, -1}); };
  const auto turned = [&](const at::Tensor& t, const std::optional<nn::RmsNorm>& norm) {
    return nn::apply_rotary(norm ? (*norm)(t) : t, sequence.rotary);
  };
  nn::AttentionCall call;
  call.query = turned(heads(q_(normed)), norm_q_);
  call.key = turned(heads(k_(normed)), norm_k_);
  call.value = heads(v_(normed));
  call.key_lengths = sequence.key_lengths;
  return out_(nn::attention(call, scope).flatten(2));
}

at::Tensor ZImageBlock::feed_forward(const at::Tensor& normed) const {
  return w2_(nn::activate(nn::Activation::Silu, w1_(normed)).mul_(w3_(normed)));
}

at::Tensor ZImageBlock::forward(const ZImageSequence& sequence, const at::Tensor& time, const nn::Scope& scope) const {
  const at::Tensor& x = sequence.tokens;
  if (!modulation_) {
    const at::Tensor attended = x + attention_norm2_(attend(attention_norm1_(x), sequence, scope));
    return attended + ffn_norm2_(feed_forward(ffn_norm1_(attended)));
  }
  const std::vector<at::Tensor> m = (*modulation_)(time).unsqueeze(1).chunk(4, 2);  // [B, 1, D] each
  const at::Tensor to_attention = attention_norm1_(x) * (m[0] + 1);
  const at::Tensor attended = nn::gated_add(x, m[1].tanh(), attention_norm2_(attend(to_attention, sequence, scope)));
  const at::Tensor to_ffn = ffn_norm1_(attended) * (m[2] + 1);
  return nn::gated_add(attended, m[3].tanh(), ffn_norm2_(feed_forward(to_ffn)));
}

}  // namespace tessera::models
