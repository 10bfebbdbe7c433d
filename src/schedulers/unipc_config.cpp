#include <algorithm>

#include "base/strings.h"
#include "schedulers/unipc.h"

namespace tessera::schedulers {
namespace {

struct Switch {
  const char* field;
  bool needed;
};

// What makes the schedule one of flow matching; every released model on UniPC has these values.
constexpr Switch kSwitches[] = {{"use_flow_sigmas", true},
                                {"use_karras_sigmas", false},
                                {"use_exponential_sigmas", false},
                                {"use_beta_sigmas", false},
                                {"thresholding", false}};

std::unexpected<Error> unsupported(const std::string& what) {
  return fail(ErrorCode::Unsupported, "UniPCMultistepScheduler with " + what, "only flow-matching schedules are known");
}

Status check_switches(const Json& config) {
  for (const Switch& s : kSwitches) {
    TESSERA_TRY(const bool value, json::value_or<bool>(config, s.field, false));
    if (value != s.needed) return unsupported(strings::join(s.field, value ? " on" : " off"));
  }
  TESSERA_TRY(const auto prediction, json::value_or<std::string>(config, "prediction_type", "epsilon"));
  if (prediction != "flow_prediction") return unsupported("prediction_type " + prediction);
  TESSERA_TRY(const bool predict_x0, json::value_or<bool>(config, "predict_x0", true));
  if (!predict_x0) return unsupported("predict_x0 off");
  if (config.contains("solver_p") && !config["solver_p"].is_null()) return unsupported("another solver as predictor");
  return {};
}

}  // namespace

Result<UniPcConfig> parse_unipc_config(const Json& config) {
  TESSERA_TRY_OK(check_switches(config));
  UniPcConfig out;
  TESSERA_TRY(out.num_train_timesteps, json::value_or<int64_t>(config, "num_train_timesteps", 1000));
  TESSERA_TRY(out.solver_order, json::value_or<int64_t>(config, "solver_order", 2));
  if (out.solver_order < 1 || out.solver_order > 3) {
    return fail(ErrorCode::BadFile, strings::join("solver_order ", out.solver_order, " is not 1, 2 or 3"));
  }
  TESSERA_TRY(const auto solver, json::value_or<std::string>(config, "solver_type", "bh2"));
  out.solver = solver == "bh1" ? UniPcSolver::Bh1 : UniPcSolver::Bh2;
  TESSERA_TRY(out.lower_order_final, json::value_or<bool>(config, "lower_order_final", true));
  TESSERA_TRY(out.disable_corrector, json::value_or<std::vector<int64_t>>(config, "disable_corrector", {}));
  TESSERA_TRY(out.flow_shift, json::value_or<double>(config, "flow_shift", 1.0));
  TESSERA_TRY(out.use_dynamic_shifting, json::value_or<bool>(config, "use_dynamic_shifting", false));
  TESSERA_TRY(const auto shift_type, json::value_or<std::string>(config, "time_shift_type", "exponential"));
  out.linear_time_shift = shift_type == "linear";
  TESSERA_TRY(out.shift_terminal, json::value_or<double>(config, "shift_terminal", 0.0));
  TESSERA_TRY(const auto final_sigma, json::value_or<std::string>(config, "final_sigmas_type", "zero"));
  out.ends_at_zero = final_sigma == "zero";
  return out;
}

Result<std::unique_ptr<Scheduler>> make_unipc(const Json& config, const ScheduleRequest& request) {
  TESSERA_TRY(const UniPcConfig parsed, parse_unipc_config(config));
  if (parsed.use_dynamic_shifting && !request.mu) {
    return fail(ErrorCode::Misuse, "the scheduler config asks for dynamic shifting, which needs mu");
  }
  return std::make_unique<UniPc>(parsed, request);
}

}  // namespace tessera::schedulers
