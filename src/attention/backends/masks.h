// Masks in the forms that vendor kernels take.
#pragma once

#include "attention/inputs.h"

namespace tessera::attention {

/// Which keys each query may see by causality and a boolean mask or -inf in an additive one: [B|1, H|1, Sq|1, Skv],
/// or undefined when all may be seen. Key lengths are not looked at.
at::Tensor allowed_keys(const AttentionInputs& inputs);

/// The same as an additive mask (0 and -inf, plus the bias) in the query's dtype or fp32; undefined when there is none.
at::Tensor additive_mask(const AttentionInputs& inputs, const at::Tensor& allowed);

/// The causal triangle [Sq, Skv], true = may attend.
at::Tensor causal_triangle(Causal causal, int64_t seq_q, int64_t seq_kv, at::Device device);

/// Key lengths as a boolean mask [B, Hq, Sq, Skv], broadcast over heads and queries.
at::Tensor length_mask(const KeyLengths& lengths, const Sizes& sizes, at::Device device);

/// Without the copies of a broadcast: dimensions of stride 0 become size 1.
at::Tensor collapse_broadcast(const at::Tensor& mask);

}  // namespace tessera::attention
