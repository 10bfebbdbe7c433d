// Judging a tensor against its golden value.
#pragma once

#include "tensor/aten.h"

#include <string>

namespace tessera::golden {

/// The verdict on one tensor, with the two sides as text for a report.
struct TensorVerdict {
  bool ok = false;
  std::string got;
  std::string want;
};

/// Floating point: max |difference| ≤ 5e-4 × RMS of the expected values, exact where all of them are 0.
/// Integers and booleans: equal; uint8 pictures may be one level off in less than 0.5 % of their values.
TensorVerdict compare_tensors(const at::Tensor& got, const at::Tensor& want);

}  // namespace tessera::golden
