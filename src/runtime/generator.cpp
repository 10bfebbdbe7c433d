#include "runtime/generator.h"

#include "models/catalog.h"
#include "pipeline/stage.h"
#include "kernels/linear/linear.h"
#include "runtime/arithmetic.h"
#include "runtime/attention_options.h"
#include "runtime/attention_plan.h"
#include "runtime/device.h"
#include "runtime/faults.h"
#include "runtime/memory_check.h"
#include "runtime/model_folder.h"
#include "tensor/dtypes.h"

namespace tessera::runtime {

struct Generator::State {
  std::filesystem::path folder;
  at::Device device = at::kCPU;
  Arithmetic arithmetic;
  std::unique_ptr<pipeline::Pipeline> pipeline;
  attention::EngineOptions attention;
  std::unique_ptr<attention::AttentionEngine> engine;
};

Generator::Generator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

Result<Generator> Generator::open(const RuntimeOptions& options, std::shared_ptr<attention::Overrides> overrides) {
  auto state = std::make_unique<State>();
  TESSERA_TRY(state->device, parse_device(options.device));
  TESSERA_TRY(state->arithmetic, choose_arithmetic({.dtype = options.dtype,
                                                    .quality = options.quality,
                                                    .on_cpu = state->device.is_cpu(),
                                                    .linear_isa = kernels::linear_isa()}));
  TESSERA_TRY(state->attention, attention_options(options, state->device));
  TESSERA_TRY(state->folder, find_model(options.model));
  TESSERA_TRY_OK(add_weight_formats(state->folder, state->attention.selections));
  state->attention.overrides = overrides != nullptr ? std::move(overrides) : std::make_shared<attention::Overrides>();
  state->engine = attention::make_engine(state->attention);
  TESSERA_TRY(state->pipeline, models::open_pipeline(state->folder));
  set_threads(options.threads);
  return Generator(std::move(state));
}

Result<pipeline::GenerateRequest> Generator::complete(const pipeline::GenerateRequest& request) const {
  return state_->pipeline->complete(request);
}

Result<Generated> Generator::run(const pipeline::GenerateRequest& request, const RunHooks& hooks) {
  const auto sites = state_->pipeline->attention_sites(request);
  const auto& attention = state_->attention;
  const auto plan = plan_attention(sites, {.selections = attention.selections,
                                           .device = attention.device,
                                           .dtype = tensor::dtype_of(state_->arithmetic.dtype),
                                           .forced = attention.overrides->forced()});
  TESSERA_TRY_OK(check_attention(plan, attention.selections));
  TESSERA_TRY(const auto stages, memory_stages(state_->folder, sites, state_->arithmetic));
  TESSERA_TRY_OK(check_memory(stages));
  pipeline::Context context{.engine = state_->engine.get(),
                            .trace = hooks.trace,
                            .progress = hooks.progress,
                            .cancelled = hooks.cancelled,
                            .device = state_->device,
                            .dtype = state_->arithmetic.dtype,
                            .linears = state_->arithmetic.linears};
  const pipeline::Stopwatch watch;
  TESSERA_TRY(pipeline::Media media,
              caught<pipeline::Media>([&] { return state_->pipeline->generate(request, context); }));
  return Generated{std::move(media), std::move(context.timings), watch.seconds()};
}

Json Generator::attention_report() const {
  return Json(attention::to_json(state_->engine->report()));
}

Json Generator::arithmetic_report() const {
  return to_json(state_->arithmetic);
}

attention::Overrides& Generator::overrides() const {
  return *state_->attention.overrides;
}

const std::filesystem::path& Generator::folder() const {
  return state_->folder;
}
at::Device Generator::device() const {
  return state_->device;
}
at::ScalarType Generator::dtype() const {
  return state_->arithmetic.dtype;
}

}  // namespace tessera::runtime
