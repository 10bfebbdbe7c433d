#include "nn/rope.h"

#include "base/check.h"

namespace tessera::nn {
namespace {

/// With an axis for the heads, and one for the batch where the table has none.
at::Tensor over_heads(const at::Tensor& rotation) {
  return rotation.dim() == 3 ? rotation.unsqueeze(2) : rotation.unsqueeze(0).unsqueeze(2);
}

}  // namespace

at::Tensor RotaryTable::cos() const {
  return at::view_as_real(rotation).select(-1, 0).repeat_interleave(2, 1);
}

at::Tensor RotaryTable::sin() const {
  return at::view_as_real(rotation).select(-1, 1).repeat_interleave(2, 1);
}

RotaryTable rotary_table(const at::Tensor& ids, at::IntArrayRef axes_dims, double theta) {
  TESSERA_CHECK(ids.dim() == 2 && ids.size(1) == static_cast<int64_t>(axes_dims.size()), "one position per axis");
  const auto f64 = ids.options().dtype(at::kDouble);
  std::vector<at::Tensor> angles;
  for (int64_t axis = 0; axis < ids.size(1); ++axis) {
    const int64_t dim = axes_dims[axis];
    const at::Tensor exponent = at::arange(0, dim, 2, f64) / dim;
    const at::Tensor frequency = at::reciprocal(at::pow(theta, exponent));        // [dim/2]
    angles.push_back(at::outer(ids.select(1, axis).to(at::kDouble), frequency));  // [S, dim/2]
  }
  const at::Tensor angle = at::cat(angles, 1);
  return {at::complex(angle.cos().to(at::kFloat), angle.sin().to(at::kFloat))};
}

at::Tensor apply_rotary(at::Tensor x, const RotaryTable& table) {
  TESSERA_CHECK(x.dim() == 4 && x.size(3) == 2 * table.rotation.size(-1), "head size ", x.size(3), " and a table for ",
                2 * table.rotation.size(-1));
  const at::ScalarType dtype = x.scalar_type();
  const at::Tensor wide = x.to(at::kFloat);
  at::Tensor pairs = at::view_as_complex(wide.view({x.size(0), x.size(1), x.size(2), x.size(3) / 2, 2}));
  pairs.mul_(over_heads(table.rotation));
  return wide.to(dtype);
}

at::Tensor apply_rotary_halves(const at::Tensor& x, const RotaryTable& table) {
  TESSERA_CHECK(x.dim() == 4 && x.size(3) == 2 * table.rotation.size(-1), "head size ", x.size(3), " and a table for ",
                2 * table.rotation.size(-1));
  const at::Tensor parts = at::view_as_real(over_heads(table.rotation));
  const at::Tensor cos = parts.select(-1, 0);
  const at::Tensor sin = parts.select(-1, 1);
  const std::vector<at::Tensor> halves = x.to(at::kFloat).chunk(2, -1);
  const at::Tensor first = halves[0] * cos - halves[1] * sin;
  const at::Tensor second = halves[1] * cos + halves[0] * sin;
  return at::cat({first, second}, -1).to(x.scalar_type());
}

}  // namespace tessera::nn
