// Named intermediates of a run, for golden checks and for people who look for the first difference.
#pragma once

#include "tensor/aten.h"

namespace tessera::tensor {

/// Receives intermediates under the names of the golden data ("step0/cond/transformer_blocks.0/1", "latents/initial").
/// A run without a trace passes nullptr and pays nothing: no names are built, no tensors are copied.
class Trace {
 public:
  virtual ~Trace() = default;
  /// `value` may be changed in place afterwards: a trace that keeps it must clone it.
  virtual void record(const std::string& name, const at::Tensor& value) = 0;
};

}  // namespace tessera::tensor
