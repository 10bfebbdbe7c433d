// Joins attention results over disjoint keys: for ring attention and replicated keys.
#pragma once

#include "tensor/aten.h"

namespace tessera::parallel {

/// Attention of some queries over a part of the keys, as every backend returns it.
struct PartialAttention {
  at::Tensor out;  // [B, Sq, H, Dv]
  at::Tensor lse;  // [B, H, Sq] float32, natural log; -inf for a query that saw no key
};

/// The attention over the keys of both parts. The order of merging changes nothing but rounding.
/// Returns: out in the dtype of a.out, lse float32; a query without keys on both sides gives zeros and -inf.
/// Errors: throws Bug when shapes differ.
/// Source: Rabe & Staats 2021, arXiv 2112.05682.
PartialAttention merge_partials(const PartialAttention& a, const PartialAttention& b);

}  // namespace tessera::parallel
