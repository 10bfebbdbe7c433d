// One cuDNN attention graph: asked about support without a device, or built and run on one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attention/cudnn/devices.h"
#include "attention/cudnn/library.h"
#include "attention/cudnn/spec.h"

namespace tessera::attention::cudnn {

/// Where the tensors of one call lie in device memory. Absent ones are null.
struct Pointers {
  void* q = nullptr;
  void* k = nullptr;
  void* v = nullptr;
  void* o = nullptr;
  void* stats = nullptr;  ///< float32 [B, H, Sq]
  void* bias = nullptr;
  void* q_lengths = nullptr;  ///< int32 [B], with Mask::KeyLengths
  void* k_lengths = nullptr;  ///< int32 [B]
};

/// A cuDNN handle of one thread on its current device. Not to be shared between threads.
class Handle {
 public:
  /// Errors: DeviceFault when there is no usable device.
  static Result<Handle> create(const Library& library);
  /// `stream` is a cudaStream_t; every execute after it runs there.
  Status set_stream(void* stream) const;
  void* get() const { return handle_.get(); }

 private:
  explicit Handle(std::shared_ptr<void> handle) : handle_(std::move(handle)) {}
  std::shared_ptr<void> handle_;  // shared: its deleter lives in the one file that sees cuDNN
};

class Graph {
 public:
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  /// Validates the spec and orders the engines for a device that is not here.
  /// Errors: Unsupported with cuDNN's or our guard's sentence; Unavailable without cuDNN 9.8.
  static Result<Graph> for_description(const Spec& spec, const DeviceDescription& device);

  /// The same for the device of a handle. Errors: also DeviceFault.
  static Result<Graph> for_handle(const Spec& spec, const Handle& handle);

  /// Engine classes in the order of cuDNN's heuristics: 8 = sm80, 9 = sm90, 10 = sm100, 11 = sm120 kernels.
  const std::vector<int64_t>& engines() const;

  /// Names of the same plans with their tuning knobs, as cuDNN writes them.
  std::vector<std::string> plan_names() const;

  /// Compiles the plan of that index (the first supported one from there on). Call before any CUDA graph capture.
  Status build(int64_t first_plan);

  /// Index of the plan that build() took, and its scratch memory.
  int64_t plan() const;
  Result<int64_t> workspace_bytes() const;

  /// Launches on the handle's stream; nothing is waited for.
  /// Errors: DeviceFault, OutOfMemory; Bug when the pointers do not fit the spec.
  Status execute(const Handle& handle, const Pointers& pointers, void* workspace) const;

 private:
  struct State;
  explicit Graph(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The class of an engine id: the ids 1…4 of graphs that cuDNN composes itself are the same kernels as 8…11.
int64_t engine_class(int64_t engine_id);

}  // namespace tessera::attention::cudnn
