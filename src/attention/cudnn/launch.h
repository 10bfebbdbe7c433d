// The order of one launch, apart from cuDNN so that tests can watch it.
#pragma once

#include "base/result.h"

namespace tessera::attention::cudnn {

/// Queues `plan` on `stream`: the handle is bound to that stream before every execution, since another call of the
/// same thread may have used another one. `allocate(bytes)` gives an owner of scratch memory with data_ptr(). It is let
/// go as soon as the work is queued, so the allocator must hand it on in the order of that stream only, as LibTorch's
/// does for tensors made while the stream is the current one.
template <typename Plan, typename Handle, typename Pointers, typename Allocate>
Status launch(const Plan& plan, const Handle& handle, void* stream, const Pointers& pointers, Allocate&& allocate) {
  TESSERA_TRY(const int64_t bytes, plan.workspace_bytes());
  const auto workspace = allocate(bytes);
  TESSERA_TRY_OK(handle.set_stream(stream));
  return plan.execute(handle, pointers, workspace.data_ptr());
}

}  // namespace tessera::attention::cudnn
