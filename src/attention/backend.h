// The interface of every attention backend; a new one is a file in backends/, a row in the catalog and in the factory.
#pragma once

#include "attention/inputs.h"
#include "attention/policy/selection.h"
#include "base/result.h"

namespace tessera::attention {

/// Runs one problem. Stateless but for a plan cache of its own; called from several threads at once.
class AttentionBackend {
 public:
  virtual ~AttentionBackend() = default;

  /// Writes all of `outputs.out`, and `outputs.lse` when it is defined. Inputs are checked and not empty.
  /// `tier` is one that the backend's catalog row has; rows without tiers may ignore it.
  /// Errors: Unsupported (another backend may serve the problem), OutOfMemory, DeviceFault, … Exceptions of libraries
  /// may leave it: the engine converts them (guard.h).
  virtual Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) = 0;
};

}  // namespace tessera::attention
