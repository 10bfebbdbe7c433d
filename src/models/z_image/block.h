// The block of Z-Image: one attention and one gated feed-forward part, normed before and after.
#pragma once

#include "tensor/aten.h"

#include "models/z_image/config.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/rope.h"
#include "nn/scope.h"

namespace tessera::models {

/// The time embedding has at most this many channels.
inline constexpr int64_t kZImageTimeChannels = 256;

/// A batch of token sequences of different lengths; rows are padded with zeros to the longest.
struct ZImageSequence {
  at::Tensor tokens;                                ///< [B, S, D]
  nn::RotaryTable rotary;                           ///< [B, S, head/2], zeros where a row is padded
  std::vector<int64_t> lengths;                     ///< [B]
  std::optional<std::vector<int64_t>> key_lengths;  ///< `lengths`, where they differ
};

class ZImageBlock {
 public:
  /// `modulated`: scale and gate come from the time embedding.
  ZImageBlock(const weights::WeightMap& map, const ZImageConfig& config, bool modulated);

  /// Returns: the sequence's new tokens. `time` [B, time channels] is used by modulated blocks only.
  at::Tensor forward(const ZImageSequence& sequence, const at::Tensor& time, const nn::Scope& scope) const;

 private:
  at::Tensor attend(const at::Tensor& normed, const ZImageSequence& sequence, const nn::Scope& scope) const;
  at::Tensor feed_forward(const at::Tensor& normed) const;

  int64_t heads_;
  nn::Linear q_;
  nn::Linear k_;
  nn::Linear v_;
  nn::Linear out_;
  std::optional<nn::RmsNorm> norm_q_;
  std::optional<nn::RmsNorm> norm_k_;
  nn::Linear w1_;
  nn::Linear w2_;
  nn::Linear w3_;
  nn::RmsNorm attention_norm1_;
  nn::RmsNorm attention_norm2_;
  nn::RmsNorm ffn_norm1_;
  nn::RmsNorm ffn_norm2_;
  std::optional<nn::Linear> modulation_;  // time channels → 4 D
};

}  // namespace tessera::models
