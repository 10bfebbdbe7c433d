// Reads strides and types of a call.
#include "attention/signature.h"

#include <algorithm>

#include "attention/backends/cuda_call.h"
#include "tensor/dtypes.h"

namespace tessera::attention {
namespace {

bool is_dense_in_order(const at::Tensor& t, int64_t outer, int64_t inner) {
  const auto sizes = t.sizes();
  const auto strides = t.strides();
  const int64_t dim = sizes[3];
  return strides[inner] == dim && strides[outer] == dim * sizes[inner];
}

/// Dimensions: 1 = S, 2 = H.
Layout layout_of_one(const at::Tensor& t) {
  if (t.strides()[3] != 1 && t.sizes()[3] > 1) return Layout::LastStrided;
  if (is_dense_in_order(t, 1, 2)) return Layout::TokenMajor;
  if (is_dense_in_order(t, 2, 1)) return Layout::HeadMajor;
  return Layout::Strided;
}

/// The most demanding of the three; two different ones are just strides.
Layout layout_of(const AttentionInputs& in) {
  const Layout q = layout_of_one(in.query), k = layout_of_one(in.key), v = layout_of_one(in.value);
  if (q == Layout::LastStrided || k == Layout::LastStrided || v == Layout::LastStrided) return Layout::LastStrided;
  return q == k && k == v ? q : Layout::Strided;
}

MaskKind mask_kind(const Mask& mask) {
  switch (mask.index()) {
    case 1:
      return MaskKind::KeyLengths;
    case 2:
      return MaskKind::Bool;
    case 3:
      return MaskKind::Additive;
  }
  return MaskKind::None;
}

bool aligned_rows(const AttentionInputs& in) {
  return !misaligned_rows("query", in.query) && !misaligned_rows("key", in.key) && !misaligned_rows("value", in.value);
}

bool even_lengths(const Mask& mask) {
  const auto* lengths = std::get_if<KeyLengths>(&mask);
  if (lengths == nullptr || lengths->values.empty() || lengths->values[0] <= 1) return false;
  return std::ranges::all_of(lengths->values, [&](int64_t n) { return n == lengths->values[0]; });
}

/// At most six bits.
int64_t code_of(const CallFacts& f) {
  int64_t code = 0;
  for (const bool bit :
       {f.packed, f.sequences.square, f.sequences.single_key, f.sequences.more_queries, f.even_lengths, f.aligned}) {
    code = code << 1 | static_cast<int64_t>(bit);
  }
  return code;
}

}  // namespace

CallFacts facts_of(const AttentionInputs& in, bool for_gpu) {
  CallFacts facts;
  if (in.packed) {
    facts.packed = true;
    facts.sequences = sequence_facts(in.packed->query_bounds, in.packed->key_bounds);
    if (!for_gpu) facts.sequences = {.square = facts.sequences.square};
  }
  if (for_gpu) facts.even_lengths = even_lengths(in.mask), facts.aligned = aligned_rows(in);
  return facts;
}

CallKey call_key(const AttentionInputs& in, const CallPlace& place) {
  const auto q = in.query.sizes();
  const auto k = in.key.sizes();
  int64_t flags = place.component;
  for (const int64_t field :
       {static_cast<int64_t>(in.query.scalar_type()), static_cast<int64_t>(in.query.device().type()),
        static_cast<int64_t>(layout_of(in)), static_cast<int64_t>(in.causal), static_cast<int64_t>(in.mask.index()),
        static_cast<int64_t>(place.role), static_cast<int64_t>(place.needs_lse), code_of(place.facts)}) {
    flags = flags << 6 | field;
  }
  return {
      {q[0], q[1], q[2], q[3], k[1], k[2], in.value.sizes()[3], std::bit_cast<int64_t>(in.scale), place.layer, flags}};
}

AttentionProblem problem_of(const AttentionInputs& in, Role role, bool needs_lse, bool aligned) {
  const Sizes s = sizes_of(in);
  AttentionProblem p;
  p.batch = s.batch;
  p.seq_q = s.seq_q;
  p.seq_kv = s.seq_kv;
  p.heads_q = s.heads_q;
  p.heads_kv = s.heads_kv;
  p.head_dim = s.head_dim;
  p.value_dim = s.value_dim;
  p.dtype = tensor::dtype_of(in.query.scalar_type());
  p.layout = layout_of(in);
  p.causal = in.causal;
  p.mask = mask_kind(in.mask);
  const double usual = 1 / std::sqrt(static_cast<double>(s.head_dim));
  if (std::abs(in.scale - usual) > 1e-9 * usual) p.scale = in.scale;
  p.needs_lse = needs_lse;
  p.role = role;
  p.aligned = aligned;
  if (const auto* lengths = std::get_if<KeyLengths>(&in.mask)) {
    p.key_lengths.assign(lengths->values.begin(), lengths->values.end());
  }
  if (in.packed) {
    const auto& [query_bounds, key_bounds] = *in.packed;
    p.varlen_bounds.assign(query_bounds.begin(), query_bounds.end());
    if (!std::ranges::equal(query_bounds, key_bounds)) p.varlen_bounds_kv.assign(key_bounds.begin(), key_bounds.end());
  }
  return p;
}

}  // namespace tessera::attention
