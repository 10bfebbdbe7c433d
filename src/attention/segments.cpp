// Cuts a packed call into its sequences.
#include "attention/segments.h"

#include <algorithm>

namespace tessera::attention {
namespace {

/// Queries [q, q + rows) and keys [k, k + keys) of a packed call.
struct Segment {
  int64_t q = 0, rows = 0, k = 0, keys = 0;
};

Segment segment_at(const Packed& packed, size_t i) {
  const auto& [q, k] = packed;
  return {q[i], q[i + 1] - q[i], k[i], k[i + 1] - k[i]};
}

at::Tensor plane(const at::Tensor& mask, const Segment& s) {
  return mask.narrow(2, s.q, s.rows).narrow(3, s.k, s.keys);
}

/// `length` receives the keys of the sequence that take part; the mask points at it.
Mask cut_mask(const Mask& mask, const Segment& s, int64_t& length) {
  if (const auto* m = std::get_if<BoolMask>(&mask)) return BoolMask{plane(m->allowed, s)};
  if (const auto* m = std::get_if<AdditiveMask>(&mask)) return AdditiveMask{plane(m->bias, s)};
  const auto* lengths = std::get_if<KeyLengths>(&mask);
  if (lengths == nullptr) return std::monostate{};
  length = std::clamp<int64_t>(lengths->values[0] - s.k, 0, s.keys);
  return KeyLengths{{&length, 1}};
}

}  // namespace

AttentionOutputs rows_of(const AttentionOutputs& outputs, int64_t begin, int64_t count) {
  AttentionOutputs part = {outputs.out.narrow(1, begin, count), {}};
  if (outputs.lse.defined()) part.lse = outputs.lse.narrow(2, begin, count);
  return part;
}

Status run_by_segments(AttentionBackend& backend, const AttentionInputs& inputs, const AttentionOutputs& outputs,
                       Quality tier) {
  const Packed& packed = *inputs.packed;
  clear_after_segments(packed, outputs);
  for (size_t i = 0; i + 1 < packed.query_bounds.size(); ++i) {
    const Segment s = segment_at(packed, i);
    if (s.rows == 0) continue;
    const AttentionOutputs target = rows_of(outputs, s.q, s.rows);
    if (s.keys == 0) {
      fill_empty(target);
      continue;
    }
    int64_t length = 0;
    AttentionInputs part = inputs;
    part.packed.reset();
    part.query = inputs.query.narrow(1, s.q, s.rows);
    part.key = inputs.key.narrow(1, s.k, s.keys);
    part.value = inputs.value.narrow(1, s.k, s.keys);
    part.mask = cut_mask(inputs.mask, s, length);
    TESSERA_TRY_OK(backend.run(part, target, tier));
  }
  return {};
}

void clear_after_segments(const Packed& packed, const AttentionOutputs& outputs) {
  const int64_t used = packed.query_bounds.back();
  const int64_t tokens = outputs.out.size(1);
  if (used < tokens) fill_empty(rows_of(outputs, used, tokens - used));
}

}  // namespace tessera::attention
