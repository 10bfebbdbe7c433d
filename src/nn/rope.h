// Rotary position embedding: on neighbouring pairs of channels for the diffusion transformers, on the two halves of a
// head for language models.
#pragma once

#include "tensor/aten.h"

namespace tessera::nn {

/// One rotation per token and pair of channels, as complex numbers.
struct RotaryTable {
  at::Tensor rotation;  // [S, D/2] complex64, or [B, S, D/2] where the rows of a batch differ

  /// Each value twice, [S, D] float32: the two tables that diffusers keeps.
  at::Tensor cos() const;
  at::Tensor sin() const;
};

/// The table of token positions on several axes; axis i turns the next axes_dims[i] channels. Computed in float64.
/// Shapes: ids [S, A] float32 → rotation [S, sum(axes_dims)/2].
RotaryTable rotary_table(const at::Tensor& ids, at::IntArrayRef axes_dims, double theta = 10000);

/// Turns the channel pairs (2i, 2i+1) of every head; arithmetic in float32, result in x's dtype.
/// Overwrites x where it is float32: pass a tensor that nobody else reads, channels contiguous.
/// Shapes: x [B, S, H, D], table of S tokens → [B, S, H, D].
at::Tensor apply_rotary(at::Tensor x, const RotaryTable& table);

/// Turns the channel pairs (i, i + D/2) of every head, as language models lay them out; x is left alone.
/// Shapes: x [B, S, H, D], table of S tokens → [B, S, H, D].
at::Tensor apply_rotary_halves(const at::Tensor& x, const RotaryTable& table);

}  // namespace tessera::nn
