#include "apps/golden_check/compare_tensors.h"

#include "base/strings.h"

namespace tessera::golden {
namespace {

constexpr double kTolerance = 5e-4;    // × RMS; the reference itself moves by 4e-5 between libraries
constexpr double kPixelShare = 0.005;  // of the values of a picture may be one level off

std::string shape_text(const at::Tensor& t) {
  return strings::join(c10::toString(t.scalar_type()), " ", t.sizes());
}

TensorVerdict compare_pictures(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor difference = (got.to(at::kLong) - want.to(at::kLong)).abs();
  const auto most = difference.max().item<int64_t>();
  const double share = (difference > 0).to(at::kDouble).mean().item<double>();
  return {most <= 1 && share < kPixelShare, strings::join("up to ", most, " levels off in ", 100 * share, " %"),
          "at most 1 level in under 0.5 %"};
}

TensorVerdict compare_floats(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor expected = want.to(at::kDouble);
  const double rms = std::sqrt(expected.square().mean().item<double>());
  const double worst = (got.to(at::kDouble) - expected).abs().max().item<double>();
  if (rms == 0) return {worst == 0, strings::join("max |x| = ", worst), "all zero"};
  // Written so that a NaN is a failure.
  return {worst <= kTolerance * rms, strings::join("max |difference| = ", worst / rms, " RMS"),
          strings::join("at most ", kTolerance, " RMS")};
}

}  // namespace

TensorVerdict compare_tensors(const at::Tensor& got, const at::Tensor& want) {
  if (got.sizes() != want.sizes() || got.is_floating_point() != want.is_floating_point()) {
    return {false, shape_text(got), shape_text(want)};
  }
  if (want.numel() == 0) return {true, shape_text(got), shape_text(want)};
  if (want.is_floating_point()) return compare_floats(got, want);
  if (want.scalar_type() == at::kByte) return compare_pictures(got, want);
  const bool equal = at::equal(got.to(at::kLong), want.to(at::kLong));
  return {equal, equal ? "equal" : "other integers", "equal integers"};
}

}  // namespace tessera::golden
