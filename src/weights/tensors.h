// ATen tensors over mapped weight files.
#pragma once

#include "tensor/aten.h"

#include "base/result.h"
#include "weights/checkpoint.h"
#include "weights/weight_map.h"

namespace tessera::weights {

/// A tensor that looks into the mapped file and keeps it mapped; read-only (writing to it faults).
/// Data that is not aligned to its element size is copied instead. Empty shapes and zero sizes are fine.
/// Errors: Unsupported for element types that have no tensor here (F4, F6, …).
Result<at::Tensor> map_tensor(const StoredTensor& stored, const std::string& name);

/// All tensors of a checkpoint for a model's constructor; nothing is read or copied yet.
/// `dtype`: floating-point weights are handed out in this type; nothing: as stored.
Result<WeightMap> to_weight_map(const Checkpoint& checkpoint, std::optional<at::ScalarType> dtype);

}  // namespace tessera::weights
