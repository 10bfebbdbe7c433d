// The noise levels of flow matching, as diffusers' FlowMatchEulerDiscreteScheduler computes them.
#pragma once

#include "tensor/aten.h"

#include "base/json.h"
#include "base/result.h"
#include "schedulers/scheduler.h"

namespace tessera::schedulers {

enum class TimeShift { Exponential, Linear };
enum class SigmaSpacing { AsShifted, Karras, Exponential, Beta };

/// scheduler_config.json of a flow-matching sampler.
struct FlowMatchConfig {
  int64_t num_train_timesteps = 1000;
  double shift = 1.0;
  bool use_dynamic_shifting = false;
  double base_shift = 0.5;
  double max_shift = 1.15;
  int64_t base_image_seq_len = 256;
  int64_t max_image_seq_len = 4096;
  bool invert_sigmas = false;
  std::optional<double> shift_terminal;
  SigmaSpacing spacing = SigmaSpacing::AsShifted;
  TimeShift time_shift = TimeShift::Exponential;
  bool stochastic_sampling = false;
  bool use_flow_sigmas = false;  ///< pipelines then leave the sigmas to the sampler
};

/// Errors: BadFile for a field of the wrong type or two spacings at once, Unsupported for an unknown shift type.
Result<FlowMatchConfig> parse_flow_match_config(const Json& config);

/// The amount of shifting for a picture of that many tokens: a line through (base_image_seq_len, base_shift) and
/// (max_image_seq_len, max_shift).
double dynamic_shift(const FlowMatchConfig& config, int64_t image_tokens);

/// The sigmas that picture pipelines start from, before any shift: evenly spaced from 1 to 1 / steps.
std::vector<double> even_sigmas(int64_t steps);

struct FlowMatchSchedule {
  at::Tensor sigmas;     // [steps + 1] float32
  at::Tensor timesteps;  // [steps] float32
};

/// The schedule of one request. Rounding follows numpy: float32 throughout when the pipeline passes its sigmas,
/// else float64 up to the end.
/// Errors: Bug (thrown) when dynamic shifting has no mu or the number of sigmas is not num_steps.
FlowMatchSchedule flow_match_schedule(const FlowMatchConfig& config, const ScheduleRequest& request);

}  // namespace tessera::schedulers
