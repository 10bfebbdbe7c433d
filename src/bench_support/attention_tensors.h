// The data of one benchmark problem, in the layout of each contender, and its error against double precision.
#pragma once

#include "tensor/aten.h"

#include "bench_support/attention_shapes.h"

namespace tessera::bench_support {

/// Standard normal inputs, the same for every contender.
struct AttentionTensors {
  AttentionShape shape;
  at::Tensor q, k, v;                    // [B, S, H, D]
  at::Tensor torch_q, torch_k, torch_v;  // [B, H, S, D], contiguous: PyTorch's best layout
  std::optional<at::Tensor> torch_mask;  // [1, 1, 1, Skv], only with padded keys
  double scale = 1;
};

AttentionTensors make_tensors(const AttentionShape& shape, at::ScalarType dtype);

/// Bytes that make_tensors and the outputs take.
int64_t tensors_bytes(const AttentionShape& shape, at::ScalarType dtype);

/// Largest |difference| of out [B, Sq, Hq, D] to the double-precision answer, on a sample of rows that costs at most a
/// second or so; all rows of small problems.
double max_abs_error(const AttentionTensors& tensors, const at::Tensor& out);

}  // namespace tessera::bench_support
