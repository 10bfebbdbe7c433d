#include "schedulers/flow_match_euler.h"

#include "base/check.h"
#include "tensor/rng.h"

namespace tessera::schedulers {

FlowMatchEuler::FlowMatchEuler(const FlowMatchConfig& config, const ScheduleRequest& request)
    : schedule_(flow_match_schedule(config, request)),
      stochastic_(config.stochastic_sampling),
      generator_(request.generator) {}

at::Tensor FlowMatchEuler::step(const at::Tensor& model_output, int64_t index, const at::Tensor& sample) {
  TESSERA_CHECK(index >= 0 && index < schedule_.timesteps.size(0), "step ", index, " of ", schedule_.timesteps.size(0));
  const float* sigmas = schedule_.sigmas.const_data_ptr<float>();
  const float now = sigmas[index];
  const float next = sigmas[index + 1];
  const at::Tensor wide = sample.to(at::kFloat);
  const at::Tensor velocity = model_output.to(at::kFloat);
  if (!stochastic_) return at::add(wide, velocity, next - now).to(sample.scalar_type());
  TESSERA_CHECK(generator_.defined(), "stochastic sampling needs a generator");
  const at::Tensor noise = tensor::randn(sample.sizes(), generator_).to(sample.device());
  const at::Tensor clean = at::add(wide, velocity, -now);
  return at::add(clean * (1.0f - next), noise, next).to(sample.scalar_type());
}

Result<std::unique_ptr<Scheduler>> make_flow_match_euler(const Json& config, const ScheduleRequest& request) {
  TESSERA_TRY(const FlowMatchConfig parsed, parse_flow_match_config(config));
  if (parsed.use_dynamic_shifting && !request.mu) {
    return fail(ErrorCode::Misuse, "the scheduler config asks for dynamic shifting, which needs mu");
  }
  return std::make_unique<FlowMatchEuler>(parsed, request);
}

}  // namespace tessera::schedulers
