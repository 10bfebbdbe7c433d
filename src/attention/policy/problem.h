// One attention problem as plain data: what a backend is asked whether it can run. No tensors, no torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace tessera::attention {

/// Which corner the causal triangle starts from; the two differ only when Sq != Skv.
/// TopLeft: query i sees keys <= i. BottomRight: query i sees keys <= i + Skv - Sq.
enum class Causal { None, TopLeft, BottomRight };

/// Masks are typed, never guessed from a shape. KeyLengths: per batch row only the first n keys take part.
enum class MaskKind { None, KeyLengths, Bool, Additive };

enum class Role { Self, Cross };

/// How q, k and v lie in memory, as far as backends care.
enum class Layout {
  TokenMajor,   ///< [B, S, H, D] dense
  HeadMajor,    ///< [B, H, S, D] dense, seen as [B, S, H, D]
  Strided,      ///< unit stride over D, any other strides (a slice of packed QKV)
  LastStrided,  ///< the stride over D is not 1
};

/// What kernels mind in the lengths of sequences: of each packed one, or of the only one.
struct SequenceFacts {
  bool square = true;         ///< as many keys as queries: both corners of causality are one
  bool single_key = false;    ///< some sequence has exactly one key
  bool more_queries = false;  ///< some sequence has more queries than keys
  bool operator==(const SequenceFacts&) const = default;
};

/// Of sequences with the queries [q[i], q[i + 1]) and the keys [k[i], k[i + 1]). One without queries is never run, so
/// that it only counts for `square`.
SequenceFacts sequence_facts(std::span<const int64_t> query_bounds, std::span<const int64_t> key_bounds);

/// softmax(scale * Q K^T + mask) V of q [B, Sq, Hq, D], k [B, Skv, Hkv, D], v [B, Skv, Hkv, Dv].
/// Equal problems (all fields, also the length lists) get equal decisions; `operator==` serves caches.
struct AttentionProblem {
  int64_t batch = 1;
  int64_t seq_q = 0;
  int64_t seq_kv = 0;
  int64_t heads_q = 0;
  int64_t heads_kv = 0;
  int64_t head_dim = 0;
  int64_t value_dim = 0;
  DType dtype = DType::BF16;
  Layout layout = Layout::TokenMajor;
  Causal causal = Causal::None;
  MaskKind mask = MaskKind::None;
  std::optional<double> scale;  ///< 1/sqrt(D) when absent
  bool needs_lse = false;       ///< the caller wants the natural log-sum-exp, float32 [B, Hq, Sq]
  Role role = Role::Self;
  std::vector<int64_t> key_lengths;  ///< [B], only with MaskKind::KeyLengths
  /// [segments + 1] on the host; non-empty: packed, batch 1, segments attend to themselves
  std::vector<int64_t> varlen_bounds;
  std::vector<int64_t> varlen_bounds_kv;  ///< of the keys; empty: the same as of the queries
  /// Every row of q, k and v begins at a multiple of 16 bytes, as kernels on GPUs read them. Of no concern on CPUs.
  bool aligned = true;

  bool operator==(const AttentionProblem&) const = default;

  bool is_causal() const { return causal != Causal::None; }
  bool is_gqa() const { return heads_q != heads_kv; }
  bool is_varlen() const { return !varlen_bounds.empty(); }
  SequenceFacts sequences() const;
  /// As many keys as queries, in each segment: both corners of causality are one.
  bool is_square() const { return sequences().square; }
  /// No mask of any kind and not packed; may be causal.
  bool is_dense() const { return mask == MaskKind::None && !is_varlen(); }
};

/// A problem with one head count and head size on all sides, the common case in tests and named shapes.
struct DenseShape {
  int64_t batch = 1;
  int64_t seq_q = 0;
  int64_t seq_kv = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
};
AttentionProblem dense_problem(const DenseShape& shape, DType dtype = DType::BF16);

/// Well-formed: positive sizes, Hq a multiple of Hkv, lengths within Skv, bounds rising from 0. Empty when good, else
/// what is wrong.
std::string problem_defect(const AttentionProblem& problem);

/// "B1 Sq4608 Skv4608 H24 D128 bf16", with the parts that differ from the plain case appended; for logs and explain.
std::string describe(const AttentionProblem& problem);

std::string_view causal_name(Causal causal);  ///< "none", "top_left", "bottom_right"
std::string_view mask_name(MaskKind mask);    ///< "none", "key_lengths", "bool", "additive"
std::string_view role_name(Role role);        ///< "self", "cross"
std::string_view layout_name(Layout layout);  ///< "token_major", "head_major", "strided", "last_strided"

}  // namespace tessera::attention
