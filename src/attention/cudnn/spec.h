// What a cuDNN attention graph is built from, as plain data; also the exact key of the plan cache.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "base/result.h"

namespace tessera::attention::cudnn {

/// Strides in elements, in the order [B, H, S, D] whatever the memory order is.
using Strides = std::array<int64_t, 4>;

enum class Causal { None, TopLeft, BottomRight };
enum class Mask { None, KeyLengths, Additive };

/// One attention problem with its memory layout. Two specs are the same plan only when every field is equal.
struct Spec {
  DType dtype = DType::BF16;
  int64_t batch = 1, seq_q = 0, seq_kv = 0, heads_q = 0, heads_kv = 0, head_dim = 0, value_dim = 0;
  Strides q{}, k{}, v{}, o{};
  Causal causal = Causal::None;
  Mask mask = Mask::None;
  DType bias_dtype = DType::F32;        ///< of the additive mask
  std::array<int64_t, 2> bias_shape{};  ///< its leading sizes [B|1, H|1]
  Strides bias{};                       ///< its strides
  bool stats = false;                   ///< also the log-sum-exp, float32 [B, H, Sq]
  double scale = 0;                     ///< on the logits; 1/sqrt(D) is filled in by dense_spec

  auto operator<=>(const Spec&) const = default;
};

struct Problem {
  int64_t batch = 1, seq_q = 0, seq_kv = 0, heads_q = 0, heads_kv = 0, head_dim = 0, value_dim = 0;
};

/// The spec of contiguous [B, S, H, D] tensors, the layout that models use; output in the same layout.
Spec dense_spec(const Problem& p, DType dtype);

/// One line with everything that matters, e.g. "bf16 B1 H24/24 S4608x4608 D128 key_lengths stats".
std::string describe(const Spec& spec);

/// Why cuDNN or its wrapper must not see this spec though neither checks it; nothing when it may.
/// `version` is cudnnGetVersion(), e.g. 91900. Every refusal has its own sentence.
std::optional<std::string> refusal(const Spec& spec, int64_t version);

/// True if a pointer may be given to the kernels: Hopper and Blackwell read wrong data below 16 bytes' alignment.
bool aligned(const void* pointer);

}  // namespace tessera::attention::cudnn
