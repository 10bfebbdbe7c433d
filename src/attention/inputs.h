// One attention problem with its tensors, and the buffers for its answer: what the engine and every backend share.
#pragma once

#include "tensor/aten.h"

#include <span>
#include <variant>

#include "attention/policy/problem.h"
#include "base/result.h"

namespace tessera::attention {

/// Per batch row: only the first n keys take part. The numbers stand on the host, whatever the device.
struct KeyLengths {
  std::span<const int64_t> values;  // [B], each in 0..Skv
};

/// true = may attend.
struct BoolMask {
  at::Tensor allowed;  // [B, Hq, Sq, Skv], broadcast by strides of 0
};

/// Added to the scaled logits; -inf = may not attend.
struct AdditiveMask {
  at::Tensor bias;  // [B, Hq, Sq, Skv], broadcast by strides of 0; fp32 or the query's dtype
};

using Mask = std::variant<std::monostate, KeyLengths, BoolMask, AdditiveMask>;

/// Several sequences, one after another, in one batch row (B = 1): sequence i has the queries [q[i], q[i + 1]) and the
/// keys [k[i], k[i + 1]), and attends to nothing else. Causal alignment is each sequence's own. The numbers stand on
/// the host, whatever the device. Tokens of no sequence: zeros and LSE -inf.
struct Packed {
  std::span<const int64_t> query_bounds;  // [n + 1], rising from 0, at most Sq
  std::span<const int64_t> key_bounds;    // [n + 1], rising from 0, at most Skv
};

/// softmax(scale * Q K^T + mask) V. A key that the mask, a length or causality excludes never reaches the result,
/// whatever it holds; a query without any allowed key gives zeros and LSE -inf.
struct AttentionInputs {
  at::Tensor query;  // [B, Sq, Hq, D], any strides
  at::Tensor key;    // [B, Skv, Hkv, D], Hq a multiple of Hkv; query head j reads key head j / (Hq / Hkv)
  at::Tensor value;  // [B, Skv, Hkv, Dv]
  Mask mask;         ///< joined with `causal` by "and"
  Causal causal = Causal::None;
  double scale = 1;
  std::optional<Packed> packed = std::nullopt;
};

/// Where the answer goes; allocated by the caller.
struct AttentionOutputs {
  at::Tensor out;  // [B, Sq, Hq, Dv], the query's dtype, last stride 1
  at::Tensor lse;  // [B, Hq, Sq] float32, natural log; undefined when it is not wanted
};

/// The sizes of a problem, read once from its tensors.
struct Sizes {
  int64_t batch = 0, seq_q = 0, seq_kv = 0, heads_q = 0, heads_kv = 0, head_dim = 0, value_dim = 0;
};

/// Sizes of checked inputs.
Sizes sizes_of(const AttentionInputs& inputs);

/// The mask as every backend gets it: expanded to [B, Hq, Sq, Skv] without copies. Takes 2, 3 or 4 dimensions.
/// Errors: Misuse when the shape does not broadcast.
Result<at::Tensor> expand_mask(const at::Tensor& mask, const Sizes& sizes);

/// Errors: Misuse when shapes, dtypes, devices, mask or lengths do not fit together.
Status validate(const AttentionInputs& inputs);

/// Buffers for the answer: out contiguous in the query's dtype, lse when asked for.
AttentionOutputs allocate_outputs(const AttentionInputs& inputs, bool needs_lse);

/// True when nothing has to be computed: no query, or no key at all. `fill_empty` then gives the answer.
bool is_empty(const Sizes& sizes);
void fill_empty(const AttentionOutputs& outputs);

}  // namespace tessera::attention
