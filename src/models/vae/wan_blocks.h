// The blocks of the Wan autoencoder; all take [B, C, F, H, W].
#pragma once

#include "tensor/aten.h"

#include "models/vae/causal_conv.h"
#include "nn/conv.h"
#include "nn/scope.h"
#include "weights/weight_map.h"

namespace tessera::models {

/// Divides every cell's channel vector by its length, then scales: the norm of this autoencoder.
struct ChannelNorm {
  at::Tensor gamma;  // [1, C, 1, 1, 1], with the root of C multiplied in

  /// `axes`: how many axes of size 1 the stored weight has behind its channels (3 in video blocks, 2 in picture
  /// blocks).
  ChannelNorm(const weights::WeightMap& map, int64_t channels, int64_t axes = 3);
  at::Tensor operator()(const at::Tensor& x) const;
};

struct WanResnet {
  ChannelNorm norm1;
  CausalConv3d conv1;
  ChannelNorm norm2;
  CausalConv3d conv2;
  std::optional<CausalConv3d> shortcut;

  WanResnet(const weights::WeightMap& map, int64_t in, int64_t out);
  at::Tensor operator()(const at::Tensor& x, FrameCache& cache) const;
};

/// One-headed attention over the cells of each frame, with a residual.
struct WanVaeAttention {
  ChannelNorm norm;
  nn::Conv2d to_qkv;
  nn::Conv2d proj;

  WanVaeAttention(const weights::WeightMap& map, int64_t channels);
  at::Tensor forward(const at::Tensor& x, const nn::Scope& scope) const;
};

struct WanMidBlock {
  WanResnet first;
  WanVaeAttention attention;
  WanResnet second;

  WanMidBlock(const weights::WeightMap& map, int64_t channels);
  at::Tensor forward(const at::Tensor& x, FrameCache& cache, const nn::Scope& scope) const;
};

/// Doubles rows and columns, and from the second chunk on also the frames where there is a time convolution.
struct WanUpsample {
  nn::Conv2d conv;
  std::optional<CausalConv3d> time_conv;

  WanUpsample(const weights::WeightMap& map, int64_t in, int64_t out, bool in_time);
  at::Tensor operator()(const at::Tensor& x, FrameCache& cache) const;
};

/// Halves rows and columns, and from the second chunk on also the frames where there is a time convolution.
struct WanDownsample {
  nn::Conv2d conv;
  at::Tensor time_weight;  // [C, C, 3, 1, 1]; undefined when frames are kept
  at::Tensor time_bias;

  WanDownsample(const weights::WeightMap& map, int64_t channels, bool in_time);
  at::Tensor operator()(const at::Tensor& x, FrameCache& cache) const;
};

/// Shortcut around an up block: values repeated over channels, then moved into frames, rows and columns.
/// In the first chunk the copies before its one frame are dropped.
at::Tensor duplicate_up(const at::Tensor& x, int64_t out_channels, int64_t time_factor, bool first_chunk);

/// Shortcut around a down block: frames, rows and columns moved into channels, then averaged in groups.
at::Tensor average_down(const at::Tensor& x, int64_t out_channels, int64_t time_factor, int64_t space_factor);

/// Packs squares of patch x patch pixels into channels, and back. [B, C, F, H, W] ↔ [B, C p p, F, H/p, W/p]
at::Tensor patchify(const at::Tensor& x, int64_t patch);
at::Tensor unpatchify(const at::Tensor& x, int64_t patch);

}  // namespace tessera::models
