// Flash attention on CPUs: the torch-free entry for attention/backends, the bench and the tests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "kernels/parallel_for.h"

namespace tessera::kernels {

/// Instruction sets with a path of their own, weakest of an architecture first. Auto: TESSERA_FORCE_ISA, else the best
/// of this machine.
enum class Isa { Auto, Scalar, Avx2, AvxVnni, Avx512, Avx512Vnni, Neon, NeonI8mm };

/// Arithmetic. Exact: fp32 for every input type. High: 13-bit integers. Fast: int8 with smoothed keys (Sage).
enum class Tier { Exact, High, Fast };

/// Which keys query i may see. TopLeft: k <= i. BottomRight: k <= i + Skv - Sq.
enum class Causal { None, TopLeft, BottomRight };

enum class MaskKind { None, Bool, Additive };

/// Why a call was not run; everything but Ok leaves the output untouched.
enum class Status { Ok, BadShape, BadDtype, BadStride, BadMask, BadLengths, HeadTooLarge, IsaMissing, OutOfMemory };

/// A read-only tensor [B, S, H, D]; strides in elements, any values, also 0 (broadcast).
/// With cu_seqlens the sequences lie one after another along S and stride_b is ignored.
struct TensorView {
  const void* data = nullptr;
  int64_t stride_b = 0;
  int64_t stride_s = 0;
  int64_t stride_h = 0;
  int64_t stride_d = 1;
};

/// The result [B, Sq, Hq, Dv]; rows must not overlap each other or an input; stride_d is 1.
struct OutputView {
  void* data = nullptr;
  int64_t stride_b = 0;
  int64_t stride_s = 0;
  int64_t stride_h = 0;
};

/// A mask [B, Hq, Sq, Skv]; stride 0 broadcasts. Bool: one byte an element, nonzero = may attend. Additive: added to
/// the scaled logits, -inf = may not attend; dtype F32, F16 or BF16.
struct MaskView {
  MaskKind kind = MaskKind::None;
  DType dtype = DType::F32;
  const void* data = nullptr;
  int64_t stride_b = 0;
  int64_t stride_h = 0;
  int64_t stride_q = 0;
  int64_t stride_k = 0;
};

/// One attention problem. Plain data; nothing is owned. Inputs are never written.
struct AttentionArgs {
  DType dtype = DType::F32;  ///< of q, k, v and out: F32, BF16 or F16
  Tier tier = Tier::Exact;
  Isa isa = Isa::Auto;  ///< tests and the bench name one; others leave Auto

  int64_t batch = 0;
  int64_t seq_q = 0;  ///< with cu_seqlens: ignored
  int64_t seq_kv = 0;
  int64_t heads_q = 0;
  int64_t heads_kv = 0;   ///< divides heads_q; query head j reads key head j / (heads_q / heads_kv)
  int64_t head_dim = 0;   ///< D of q and k
  int64_t value_dim = 0;  ///< Dv of v and out

  TensorView q, k, v;
  OutputView out;
  float* lse = nullptr;      ///< optional, natural log of the sum over keys, float32 [B, Hq, Sq] (row stride 1)
  int64_t lse_stride_b = 0;  ///< with cu_seqlens ignored: LSE is [Hq, total of queries]
  int64_t lse_stride_h = 0;

  float scale = 1.0F;  ///< logits = scale * q . k
  Causal causal = Causal::None;
  MaskView mask;                          ///< joined with `causal` and `key_lengths` by "and"
  const int64_t* key_lengths = nullptr;   ///< [B]: only keys k < key_lengths[b] take part; alignment stays that of Skv
  const int64_t* cu_seqlens_q = nullptr;  ///< [B + 1], rising from 0: sequence b has queries [cu[b], cu[b + 1])
  const int64_t* cu_seqlens_k = nullptr;  ///< [B + 1], given together with cu_seqlens_q
};

/// What really ran.
struct AttentionRun {
  Status status = Status::Ok;
  Isa isa = Isa::Auto;            ///< named by the code that ran, not by the request
  int64_t exact_redone = 0;       ///< strips of tiers High and Fast that met non-finite or huge values and ran in fp32
  int64_t scratch_bytes = 0;      ///< memory of each thread, kept for its next call
  int64_t key_bytes = 0;          ///< packed keys and values of the heads at work, all threads together, given back
  int64_t inputs_copied = 0;      ///< of q, k, v: those whose elements of a row lie apart are copied first
  Tier arithmetic = Tier::Exact;  ///< what the path computed in: not every one has integers for the tiers
};

/// Ok when attention_forward can run the shapes, types, strides and ISA of `args`; pointers to data are not looked at.
Status supports(const AttentionArgs& args);

/// softmax(scale * Q K^T + mask) V. A query without any allowed key gives zeros and LSE -inf. NaN and infinities that
/// take part propagate; keys that a mask, a length or causality excludes never reach the result, whatever they hold.
/// The result does not depend on the number of threads. Source: Dao 2023, arXiv 2307.08691 (online softmax over
/// blocks); Zhang et al. 2024, arXiv 2411.10958 (tier Fast).
AttentionRun attention_forward(const AttentionArgs& args, const ParallelFor& parallel = {});

/// The paths that this processor and operating system can run, weakest first; never empty.
std::vector<Isa> available_isas();

/// The path that Isa::Auto takes. Errors: Usage when TESSERA_FORCE_ISA names an unknown one, Unavailable when this
/// machine lacks it.
Result<Isa> active_isa();

/// "scalar", "avx2", "avx_vnni", "avx512", "avx512_vnni", "neon", "neon_i8mm"; "auto".
std::string_view isa_name(Isa isa);

/// "exact", "high", "fast".
std::string_view tier_name(Tier tier);

/// A sentence for a refusal.
std::string_view status_text(Status status);

}  // namespace tessera::kernels
