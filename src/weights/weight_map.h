// Named weights of one component, as a model's constructor asks for them.
#pragma once

#include "tensor/aten.h"

namespace tessera::weights {

class MappedFile;

/// How the large linear layers of a component multiply (nn/linear): in floating point, in 13-bit or in 8-bit integers.
enum class LinearTier { Exact, High, Fast };

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

  /// The same weights for a model whose large linear layers multiply as `tier` says.
  WeightMap with_linears(LinearTier tier) const;
  LinearTier linears() const { return linears_; }

  /// The type that `get` converts to; nothing: as stored.
  std::optional<at::ScalarType> dtype() const { return dtype_; }

  bool has(const std::string& name) const;

  /// The tensor of that name and exactly that shape (-1: any size). Marks it used.
  at::Tensor get(const std::string& name, at::IntArrayRef shape) const;

  /// `get`, but 16-bit weights on a CPU as they are stored, whatever the map's type: for modules that convert what they
  /// use of them, so that they need no second copy.
  at::Tensor compact(const std::string& name, at::IntArrayRef shape) const;

  /// `get` without conversion: a view of the file, for modules that convert what they use, or pack it.
  at::Tensor stored(const std::string& name, at::IntArrayRef shape) const;

  /// Gives the memory of a tensor's file pages back after it was read once; reading it again is allowed.
  void release(const std::string& name) const;

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
  WeightMap(std::shared_ptr<Store> store, std::string prefix, std::optional<at::ScalarType> dtype, LinearTier linears);
  const Weight* lookup(const std::string& name) const;
  const Weight& checked(const std::string& name, at::IntArrayRef shape) const;
  std::shared_ptr<Store> store_;
  std::string prefix_;
  std::optional<at::ScalarType> dtype_;
  LinearTier linears_ = LinearTier::Exact;
};

}  // namespace tessera::weights
