// One block of the Wan transformer: self-attention, cross-attention to the text, feed-forward.
#pragma once

#include "tensor/aten.h"

#include "models/wan/config.h"
#include "nn/feed_forward.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/rope.h"
#include "nn/scope.h"

namespace tessera::models {

/// The time embedding of a call. Most tokens share one timestep, so it is kept once per distinct timestep.
struct WanTime {
  at::Tensor embedding;   // [U, D]
  at::Tensor projection;  // [U, 6, D] float32
  at::Tensor rows;        // [S] int64: which of the U rows a token takes; undefined when U = 1

  /// v [U, D] as a factor of [1, S, D].
  at::Tensor per_token(const at::Tensor& v) const {
    return rows.defined() ? v.index_select(0, rows).unsqueeze(0) : v.unsqueeze(0);
  }
};

/// What all blocks of one call share.
struct WanConditioning {
  WanTime time;
  nn::RotaryTable rotary;  // S tokens
  at::Tensor text;         // [1, T, D]
};

/// Projections of one attention; query and key are normed over all heads together.
struct WanAttention {
  nn::Linear q;
  nn::Linear k;
  nn::Linear v;
  nn::Linear out;
  nn::RmsNorm norm_q;
  nn::RmsNorm norm_k;
  int64_t head_dim;

  WanAttention(const weights::WeightMap& map, const WanConfig& config);

  /// x attends to itself, turned by `rotary`. x [1, S, D] → same
  at::Tensor self(const at::Tensor& x, const nn::RotaryTable& rotary, const nn::Scope& scope) const;

  /// x attends to the text. x [1, S, D], text [1, T, D] → [1, S, D]
  at::Tensor cross(const at::Tensor& x, const at::Tensor& text, const nn::Scope& scope) const;

 private:
  at::Tensor heads(const at::Tensor& x) const { return x.view({x.size(0), x.size(1), -1, head_dim}); }
};

class WanBlock {
 public:
  WanBlock(const weights::WeightMap& map, const WanConfig& config);

  /// x [1, S, D] → same
  at::Tensor forward(const at::Tensor& x, const WanConditioning& conditioning, const nn::Scope& scope) const;

 private:
  WanAttention self_;
  WanAttention cross_;
  std::optional<nn::LayerNorm> cross_norm_;
  nn::FeedForward feed_forward_;
  at::Tensor table_;  // [1, 6, D]
  double eps_;
};

/// norm(x) * (1 + scale) + shift with factors of [1, 1 or S, D]; arithmetic in float32, result in x's dtype.
at::Tensor wan_modulated_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift, double eps);

}  // namespace tessera::models
