// Named weights of one component, as a model's constructor asks for them.
#pragma once

#include "tensor/aten.h"

namespace tessera::weights {

class MappedFile;

/// A tensor as stored, and where it comes from.
struct Weight {
  at::Tensor tensor;
  std::shared_ptr<const MappedFile> file = nullptr;  // nullptr: made in memory; shared with the tensor's own storage
};

/// A view over the tensors of a component (mapped files) below a name prefix. Cheap to copy.
///
/// Models are plain structs built from it: `FluxBlock(map.sub("single_transformer_blocks.3"))`.
/// `get` throws RuntimeFault{BadFile}, naming file, tensor and what was expected; runtime/load turns it into a Result.
class WeightMap {
 public:
  /// All tensors of a component by full name. `dtype`: floating-point weights are handed out in this type
  /// (no copy when they are stored so); nothing: as stored. `origin`: file or folder for messages.
  WeightMap(std::map<std::string, at::Tensor> tensors, std::optional<at::ScalarType> dtype, std::string origin);
  WeightMap(std::map<std::string, Weight> weights, std::optional<at::ScalarType> dtype, std::string origin);

  /// The same weights below `name` + ".".
  WeightMap sub(const std::string& name) const;

  /// The same weights, handed out in another type (nothing: as stored).
  WeightMap as(std::optional<at::ScalarType> dtype) const;

  bool has(const std::string& name) const;

  /// The tensor of that name and exactly that shape (-1: any size). Marks it used.
  at::Tensor get(const std::string& name, at::IntArrayRef shape) const;

  /// `get`, or nothing when there is no such tensor (a bias that a config switches off).
  std::optional<at::Tensor> find(const std::string& name, at::IntArrayRef shape) const;

  /// Names below the prefix, without it.
  std::vector<std::string> names() const;

  /// Full names that no `get` has taken so far: unexpected tensors, for a warning after loading.
  std::vector<std::string> unused() const;

  /// The file or folder that the weights come from.
  const std::string& origin() const;

 private:
  struct Store;  // shared by all sub-maps: shared_ptr because sub-maps outlive the map they came from
  WeightMap(std::shared_ptr<Store> store, std::string prefix, std::optional<at::ScalarType> dtype);
  const Weight* lookup(const std::string& name) const;
  std::shared_ptr<Store> store_;
  std::string prefix_;
  std::optional<at::ScalarType> dtype_;
};

}  // namespace tessera::weights
