// A small problem with grouped heads, on the CPU: for tests of what comes before a CUDA call.
#pragma once

#include "tensor/aten.h"

#include "attention/backend.h"

namespace tessera::attention {

inline AttentionInputs inputs(int64_t batch = 2) {
  const auto options = at::TensorOptions().dtype(at::kBFloat16);
  AttentionInputs in;
  in.query = at::zeros({batch, 32, 8, 64}, options);
  in.key = at::zeros({batch, 16, 4, 64}, options);
  in.value = at::zeros({batch, 16, 4, 64}, options);
  in.scale = 0.125;
  return in;
}

}  // namespace tessera::attention
