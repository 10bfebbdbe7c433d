// The interface of every sampler: a noise schedule and the step from one noise level to the next.
#pragma once

#include "tensor/aten.h"

namespace tessera::schedulers {

/// What a pipeline knows when it asks for a schedule.
struct ScheduleRequest {
  int64_t num_steps = 0;
  /// The pipeline's own sigmas before shifting (diffusers' `sigmas` argument); absent: the sampler's default ones.
  std::optional<std::vector<double>> sigmas;
  /// Amount of resolution-dependent shifting; needed where the config asks for dynamic shifting.
  std::optional<double> mu;
  /// Noise of stochastic samplers; may stay undefined for the others. Advanced by the steps.
  at::Generator generator;
};

/// A schedule being walked. Made for one request by schedulers/catalog; steps must be taken in order.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual const at::Tensor& timesteps() const = 0;  ///< [steps], as given to the model (before any division)
  virtual const at::Tensor& sigmas() const = 0;     ///< [steps + 1] float32, the last one is where sampling ends

  /// The sample at the next noise level. `index` counts from 0; model_output has the sample's shape.
  /// Returns: the sample's shape and dtype.
  virtual at::Tensor step(const at::Tensor& model_output, int64_t index, const at::Tensor& sample) = 0;
};

}  // namespace tessera::schedulers
