// Which arithmetic a request's models run in, decided from plain data, with the reason for `generate --json`.
#pragma once

#include "tensor/aten.h"

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "kernels/attention.h"
#include "weights/weight_map.h"

namespace tessera::runtime {

/// The answer: the type of activations, and how the transformers' large linear layers multiply.
struct Arithmetic {
  at::ScalarType dtype = at::kFloat;
  weights::LinearTier linears = weights::LinearTier::Exact;
  std::string reason;  ///< why, in one sentence
};

/// What is asked, and where it runs.
struct ArithmeticQuestion {
  std::string_view dtype = "auto";     ///< auto | fp32 | bf16 | fp16
  std::string_view quality = "exact";  ///< exact | high | fast
  bool on_cpu = true;
  kernels::Isa linear_isa = kernels::Isa::Auto;  ///< of kernels/linear; Auto: no path for integers here
};

/// Pure. 16-bit weights stay 16-bit in memory whatever the answer. Errors: Usage for texts that no flag takes.
Result<Arithmetic> choose_arithmetic(const ArithmeticQuestion& question);

/// {"dtype", "linears", "reason"}
Json to_json(const Arithmetic& arithmetic);

}  // namespace tessera::runtime
