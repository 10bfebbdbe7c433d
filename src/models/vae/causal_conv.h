// Three-dimensional convolutions that look only backward in time, fed chunk by chunk.
#pragma once

#include "tensor/aten.h"

#include "weights/weight_map.h"

namespace tessera::models {

/// What the causal convolutions of one video remember between chunks: their last input frames, in the order of calls.
/// A video is decoded frame by frame with one cache, so that memory does not grow with its length.
class FrameCache {
 public:
  /// Ends a chunk: in the next one the same convolutions follow in the same order.
  void end_chunk() {
    first_ = false;
    cursor_ = 0;
  }
  /// True while the first chunk runs: it has one frame, and nothing is doubled or halved in time.
  bool first_chunk() const { return first_; }
  /// The memory of the convolution that is running; undefined in the first chunk.
  at::Tensor& slot() {
    if (cursor_ == slots_.size()) slots_.emplace_back();
    return slots_[cursor_++];
  }

 private:
  std::vector<at::Tensor> slots_;
  size_t cursor_ = 0;
  bool first_ = true;
};

struct CausalShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t time_kernel = 3;
  int64_t space_kernel = 3;  ///< rows and columns are padded to keep their number
};

/// A convolution whose frame t sees the frames t - time_kernel + 1 … t; zeros stand before the first one.
struct CausalConv3d {
  at::Tensor weight;  // [out, in, kt, ks, ks]
  at::Tensor bias;    // [out]

  CausalConv3d(const weights::WeightMap& map, const CausalShape& shape);

  /// x [B, in, F, H, W] → [B, out, F, H, W]. Without a cache the frames before x are zeros.
  at::Tensor operator()(const at::Tensor& x, FrameCache* cache) const;
};

}  // namespace tessera::models
