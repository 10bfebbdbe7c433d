// The residual and attention blocks of AutoencoderKL.
#pragma once

#include "tensor/aten.h"

#include "nn/conv.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/scope.h"

namespace tessera::models {

struct KlBlockShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t groups = 32;
};

/// x + conv2(silu(norm2(conv1(silu(norm1(x)))))), with a 1×1 convolution on x where the channels change.
struct KlResnet {
  nn::GroupNorm norm1;
  nn::Conv2d conv1;
  nn::GroupNorm norm2;
  nn::Conv2d conv2;
  std::optional<nn::Conv2d> shortcut;

  KlResnet(const weights::WeightMap& map, const KlBlockShape& shape);
  at::Tensor operator()(const at::Tensor& x) const;  // [B, in, H, W] → [B, out, H, W]
};

/// One-headed self-attention over all cells, with a residual.
struct KlAttention {
  nn::GroupNorm norm;
  nn::Linear q;
  nn::Linear k;
  nn::Linear v;
  nn::Linear out;

  /// Takes the tensor names of today (to_q) and of old checkpoints (query).
  KlAttention(const weights::WeightMap& map, int64_t channels, int64_t groups);
  at::Tensor forward(const at::Tensor& x, const nn::Scope& scope) const;  // [B, C, H, W] → same
};

}  // namespace tessera::models
