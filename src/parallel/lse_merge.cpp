// out = sum of out_i * exp(lse_i - lse), where lse = log(sum of exp(lse_i)).
#include "parallel/lse_merge.h"

#include <limits>

#include "base/check.h"

namespace tessera::parallel {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// [B, H, Sq] → [B, Sq, H, 1]
at::Tensor as_weight(const at::Tensor& per_row) {
  return per_row.transpose(1, 2).unsqueeze(-1);
}

}  // namespace

PartialAttention merge_partials(const PartialAttention& a, const PartialAttention& b) {
  TESSERA_CHECK(a.out.sizes() == b.out.sizes() && a.lse.sizes() == b.lse.sizes(), "parts of different shapes");
  TESSERA_CHECK(a.lse.scalar_type() == at::kFloat && b.lse.scalar_type() == at::kFloat, "LSE is float32");
  const at::Tensor top = at::maximum(a.lse, b.lse);  // [B, H, Sq]; NaN on either side stays
  // Without any key on both sides the differences would be -inf - -inf.
  const at::Tensor shift = top.masked_fill(top == -kInfinity, 0.0);
  const at::Tensor weight_a = at::exp(a.lse - shift);
  const at::Tensor weight_b = at::exp(b.lse - shift);
  const at::Tensor sum = weight_a + weight_b;
  const at::Tensor inverse = at::where(sum == 0, at::zeros_like(sum), at::reciprocal(sum));
  const at::Tensor out =
      a.out.to(at::kFloat) * as_weight(weight_a * inverse) + b.out.to(at::kFloat) * as_weight(weight_b * inverse);
  return {out.to(a.out.scalar_type()), shift + at::log(sum)};
}

}  // namespace tessera::parallel
