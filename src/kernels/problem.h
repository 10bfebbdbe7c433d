// One batch row and key head of a call with its pointers moved there: what every path of kernels/ computes from.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/attention.h"

namespace tessera::kernels {

/// The G = Hq / Hkv query heads that share one key head of one batch row (or of one packed sequence).
struct HeadProblem {
  const AttentionArgs* args = nullptr;
  const std::byte* q = nullptr;     ///< [Sq, G, D]
  const std::byte* k = nullptr;     ///< [Skv, D]
  const std::byte* v = nullptr;     ///< [Skv, Dv]
  const std::byte* mask = nullptr;  ///< [G, Sq, Skv]
  std::byte* out = nullptr;         ///< [Sq, G, Dv]
  float* lse = nullptr;             ///< [G, Sq]
  int64_t lse_stride_h = 0;
  int64_t groups = 1;
  int64_t seq_q = 0;
  int64_t keys = 0;          ///< keys that take part: Skv cut to the row's key length
  int64_t causal_shift = 0;  ///< query i sees keys k <= i + causal_shift

  /// One past the last key that query i may see.
  int64_t key_end(int64_t i) const {
    if (args->causal == Causal::None) return keys;
    const int64_t end = i + causal_shift + 1;
    return end < 0 ? 0 : end < keys ? end : keys;
  }
};

/// The problem of batch row b and key head `head` of a call that `supports` accepted.
HeadProblem head_problem(const AttentionArgs& args, int64_t b, int64_t head);

/// The longest query and key sequence of the call.
int64_t longest_query(const AttentionArgs& args);
int64_t longest_keys(const AttentionArgs& args);

/// Added to the scaled logit of (head group g, query i, key k) by the mask view: 0 or -inf for a bool mask.
float mask_value(const HeadProblem& p, int64_t g, int64_t i, int64_t k);

/// Element `index` of a buffer of F32, F16 or BF16.
float load_element(const std::byte* data, DType dtype, int64_t index);

/// Rounds to the nearest (ties to even) of F32, F16 or BF16 and stores it.
void store_element(std::byte* data, DType dtype, int64_t index, float value);

}  // namespace tessera::kernels
