// The named shapes as this device can take them.
#pragma once

#include "apps/gpu_check/session.h"
#include "attention/policy/named_shapes.h"

namespace tessera::gpu_check {

/// Those that are checked: all but the half-million token ones. In the dry run every sequence is cut to a few hundred.
std::vector<attention::NamedShape> checked_shapes(const Session& session);

/// The eleven of the reference's table, in its order, less those two.
std::vector<attention::NamedShape> benched_shapes(const Session& session);

/// Random tensors of a shape, with its padding and causality. Not copied or moved: the inputs point into it.
class NamedInputs {
 public:
  NamedInputs(const Session& session, const attention::NamedShape& shape, at::ScalarType dtype);
  NamedInputs(const NamedInputs&) = delete;
  const attention::AttentionInputs& inputs() const { return inputs_; }

 private:
  std::vector<int64_t> lengths_;
  attention::AttentionInputs inputs_;
};

}  // namespace tessera::gpu_check
