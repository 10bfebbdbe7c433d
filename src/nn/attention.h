// The only place where models call attention; the engine stands behind it.
#pragma once

#include "tensor/aten.h"

#include "attention/policy/selection.h"
#include "nn/scope.h"

namespace tessera::nn {

enum class AttentionRole { Self, Cross };

/// One attention problem with its tensors. Masks are typed, never guessed from a shape.
struct AttentionCall {
  at::Tensor query;                                 // [B, Sq, Hq, D], any strides
  at::Tensor key;                                   // [B, Skv, Hkv, D], Hq a multiple of Hkv
  at::Tensor value;                                 // [B, Skv, Hkv, Dv]
  bool causal = false;                              ///< aligned to the top left corner
  std::optional<std::vector<int64_t>> key_lengths;  ///< per batch row: only the first n keys take part
  std::optional<at::Tensor> bool_mask;              ///< [B|1, H|1, Sq, Skv], true = may attend
  std::optional<at::Tensor> additive_mask;  ///< [B|1, H|1, Sq, Skv], added to the scaled logits (T5 position bias)
  std::optional<double> scale;              ///< 1/sqrt(D) when absent
  AttentionRole role = AttentionRole::Self;
  std::optional<attention::Choice> pin = std::nullopt;            ///< this layer computes right with nothing else
  std::optional<attention::Choice> layer_default = std::nullopt;  ///< this layer's wish where nobody chose
};

/// softmax(scale * Q K^T + mask) V. Returns: [B, Sq, Hq, Dv] in the query's dtype; a fully masked row is 0.
/// Errors: throws RuntimeFault when no backend serves the call or the chosen one fails (see docs/attention.md).
at::Tensor attention(const AttentionCall& call, const Scope& scope);

}  // namespace tessera::nn
