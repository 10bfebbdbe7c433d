// The double-stream and single-stream blocks of Flux.
#pragma once

#include "tensor/aten.h"

#include "models/flux/config.h"
#include "nn/feed_forward.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/rope.h"
#include "nn/scope.h"

namespace tessera::models {

/// What all blocks of one call share.
struct FluxConditioning {
  at::Tensor silu_time;    // [B, D]: silu of the time-guidance-text embedding, the input of every modulation
  nn::RotaryTable rotary;  // T + S tokens, text first
};

/// The tensor names of one stream's projections: the image stream's and the text stream's differ.
struct FluxStreamNames {
  const char* q;
  const char* k;
  const char* v;
  const char* norm_q;
  const char* norm_k;
};

/// Query, key and value of one stream, with normed query and key.
struct FluxProjection {
  nn::Linear q;
  nn::Linear k;
  nn::Linear v;
  nn::RmsNorm norm_q;
  nn::RmsNorm norm_k;
  int64_t head_dim;

  FluxProjection(const weights::WeightMap& map, const FluxConfig& config, const FluxStreamNames& names);

  struct Heads {
    at::Tensor query, key, value;  // [B, S, H, D]
  };
  Heads operator()(const at::Tensor& x) const;
};

/// Everything that a double-stream block holds for one of its streams.
struct FluxStream {
  nn::Linear modulation;  // D → 6 D
  FluxProjection projection;
  nn::Linear out;
  nn::FeedForward feed_forward;
};

/// The tensor names of a double-stream block's parts outside its attention; Qwen-Image's differ from Flux's.
struct DoubleBlockNames {
  const char* image_modulation = "norm1.linear";
  const char* text_modulation = "norm1_context.linear";
  const char* image_feed_forward = "ff";
  const char* text_feed_forward = "ff_context";
};

/// Text and image tokens with weights of their own and one attention over both.
class FluxDoubleBlock {
 public:
  FluxDoubleBlock(const weights::WeightMap& map, const FluxConfig& config, const DoubleBlockNames& names = {});

  /// Replaces text [B, T, D] and image [B, S, D] by the block's outputs.
  void forward(at::Tensor& text, at::Tensor& image, const FluxConditioning& conditioning, const nn::Scope& scope) const;

 private:
  FluxStream text_;
  FluxStream image_;
};

/// Attention and feed-forward side by side over text and image tokens joined.
class FluxSingleBlock {
 public:
  FluxSingleBlock(const weights::WeightMap& map, const FluxConfig& config);

  /// x [B, T + S, D] → same
  at::Tensor forward(const at::Tensor& x, const FluxConditioning& conditioning, const nn::Scope& scope) const;

 private:
  /// out_([attended | gelu(mlp_(normed))])
  at::Tensor project(const at::Tensor& attended, const at::Tensor& normed) const;

  nn::Linear modulation_;  // D → 3 D
  FluxProjection projection_;
  nn::Linear mlp_;
  nn::Linear out_;  // [attention | mlp] → D
};

}  // namespace tessera::models
