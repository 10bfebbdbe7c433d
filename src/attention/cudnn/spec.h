// What a cuDNN attention graph is built from, as plain data; also the exact key of the plan cache.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/policy/problem.h"
#include "base/dtype.h"

namespace tessera::attention::cudnn {

/// Strides in elements, in the order [B, H, S, D] whatever the memory order is.
using Strides = std::array<int64_t, 4>;

/// One attention problem with its memory layout. Two specs are the same plan only when every field is equal.
struct Spec {
  DType dtype = DType::BF16;
  int64_t batch = 1, seq_q = 0, seq_kv = 0, heads_q = 0, heads_kv = 0, head_dim = 0, value_dim = 0;
  Strides q{}, k{}, v{}, o{};
  Causal causal = Causal::None;
  MaskKind mask = MaskKind::None;
  DType bias_dtype = DType::F32;        ///< of the additive mask
  std::array<int64_t, 2> bias_shape{};  ///< its leading sizes [B|1, H|1]
  Strides bias{};                       ///< its strides
  bool stats = false;                   ///< also the log-sum-exp, float32 [B, H, Sq]
  double scale = 0;                     ///< on the logits; 1/sqrt(D) where the problem names none

  auto operator<=>(const Spec&) const = default;
};

/// The spec of a policy problem with contiguous [B, S, H, D] tensors, the layout that models use, and an output in the
/// same layout; a dense mask as the backend hands it over: additive [1, 1, Sq, Skv] in the query's dtype, causality
/// included, rows of whole 16 bytes.
Spec spec_of(const AttentionProblem& problem);

/// One line with everything that matters, e.g. "bf16 B1 H24/24 S4608x4608 D128 key_lengths stats".
std::string describe(const Spec& spec);

/// Why cuDNN or its wrapper must not see this spec though neither checks it; nothing when it may.
/// `version` is cudnnGetVersion(), e.g. 91900. Every refusal has its own sentence.
std::optional<std::string> refusal(const Spec& spec, int64_t version);

/// The plan to begin with when the second of the engine classes in cuDNN's order is wanted; 0 when there is but one.
int64_t second_engine(const std::vector<int64_t>& engines);

/// True if a pointer may be given to the kernels: Hopper and Blackwell read wrong data below 16 bytes' alignment.
bool aligned(const void* pointer);

}  // namespace tessera::attention::cudnn
