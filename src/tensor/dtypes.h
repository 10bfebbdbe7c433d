// Between our torch-free DType and ATen's scalar types.
#pragma once

#include "tensor/aten.h"

#include "base/dtype.h"

namespace tessera::tensor {

/// ATen's type for a safetensors dtype; every one of them exists in ATen.
at::ScalarType scalar_type(DType dtype);

/// The inverse. Throws Bug for ATen types that no weight file can hold (complex, quantized).
DType dtype_of(at::ScalarType type);

}  // namespace tessera::tensor
