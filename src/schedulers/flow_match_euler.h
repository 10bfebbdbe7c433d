// Euler steps along the flow: diffusers' FlowMatchEulerDiscreteScheduler.
#pragma once

#include "tensor/aten.h"

#include "base/json.h"
#include "base/result.h"
#include "schedulers/flow_match_schedule.h"
#include "schedulers/scheduler.h"

namespace tessera::schedulers {

/// sample + (sigma_next - sigma) * model_output; with stochastic sampling fresh noise at every level.
class FlowMatchEuler final : public Scheduler {
 public:
  FlowMatchEuler(const FlowMatchConfig& config, const ScheduleRequest& request);

  const at::Tensor& timesteps() const override { return schedule_.timesteps; }
  const at::Tensor& sigmas() const override { return schedule_.sigmas; }
  at::Tensor step(const at::Tensor& model_output, int64_t index, const at::Tensor& sample) override;

 private:
  FlowMatchSchedule schedule_;
  bool stochastic_;
  at::Generator generator_;
};

/// Row of schedulers/catalog. Errors: those of parse_flow_match_config; Misuse when mu is missing.
Result<std::unique_ptr<Scheduler>> make_flow_match_euler(const Json& config, const ScheduleRequest& request);

}  // namespace tessera::schedulers
