// Named weights of one component, as a model's constructor asks for them.
#pragma once

#include "tensor/aten.h"

#include <set>

namespace tessera::weights {

/// A view over the tensors of a component (mapped files) below a name prefix. Cheap to copy.
///
/// Models are plain structs built from it: `FluxBlock(map.sub("single_transformer_blocks.3"))`.
/// `get` throws RuntimeFault{BadFile}, naming file, tensor and what was expected; runtime/load turns it into a Result.
class WeightMap {
 public:
  /// All tensors of a component by full name. `dtype`: floating-point weights are handed out in this type
  /// (no copy when they are stored so); nothing: as stored. `origin`: file or folder for messages.
  WeightMap(std::map<std::string, at::Tensor> tensors, std::optional<at::ScalarType> dtype, std::string origin);

  /// The same weights below `name` + ".".
  WeightMap sub(const std::string& name) const;

  bool has(const std::string& name) const;

  /// The tensor of that name and exactly that shape (-1: any size). Marks it used.
  at::Tensor get(const std::string& name, at::IntArrayRef shape) const;

  /// `get`, or nothing when there is no such tensor (a bias that a config switches off).
  std::optional<at::Tensor> find(const std::string& name, at::IntArrayRef shape) const;

  /// Full names that no `get` has taken so far: unexpected tensors, for a warning after loading.
  std::vector<std::string> unused() const;

 private:
  struct Store;  // shared by all sub-maps: shared_ptr because sub-maps outlive the map they came from
  WeightMap(std::shared_ptr<Store> store, std::string prefix);
  std::shared_ptr<Store> store_;
  std::string prefix_;
};

}  // namespace tessera::weights
