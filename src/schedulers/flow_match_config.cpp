#include "schedulers/flow_match_schedule.h"

#include "base/strings.h"

namespace tessera::schedulers {
namespace {

Result<SigmaSpacing> parse_spacing(const Json& config) {
  constexpr std::pair<const char*, SigmaSpacing> kFlags[] = {{"use_karras_sigmas", SigmaSpacing::Karras},
                                                             {"use_exponential_sigmas", SigmaSpacing::Exponential},
                                                             {"use_beta_sigmas", SigmaSpacing::Beta}};
  SigmaSpacing spacing = SigmaSpacing::AsShifted;
  for (const auto& [key, kind] : kFlags) {
    TESSERA_TRY(const bool on, json::value_or(config, key, false));
    if (!on) continue;
    if (spacing != SigmaSpacing::AsShifted) {
      return fail(ErrorCode::BadFile, "scheduler config asks for two sigma spacings at once", "keep one of them");
    }
    spacing = kind;
  }
  return spacing;
}

Result<TimeShift> parse_time_shift(const Json& config) {
  TESSERA_TRY(const std::string name, json::value_or<std::string>(config, "time_shift_type", "exponential"));
  if (name == "exponential") return TimeShift::Exponential;
  if (name == "linear") return TimeShift::Linear;
  return fail(ErrorCode::Unsupported, "time_shift_type '" + name + "' is not known", "known are exponential, linear");
}

}  // namespace

Result<FlowMatchConfig> parse_flow_match_config(const Json& config) {
  FlowMatchConfig c;
  TESSERA_TRY(c.num_train_timesteps, json::value_or(config, "num_train_timesteps", c.num_train_timesteps));
  TESSERA_TRY(c.shift, json::value_or(config, "shift", c.shift));
  TESSERA_TRY(c.use_dynamic_shifting, json::value_or(config, "use_dynamic_shifting", false));
  TESSERA_TRY(c.base_shift, json::value_or(config, "base_shift", c.base_shift));
  TESSERA_TRY(c.max_shift, json::value_or(config, "max_shift", c.max_shift));
  TESSERA_TRY(c.base_image_seq_len, json::value_or(config, "base_image_seq_len", c.base_image_seq_len));
  TESSERA_TRY(c.max_image_seq_len, json::value_or(config, "max_image_seq_len", c.max_image_seq_len));
  TESSERA_TRY(c.invert_sigmas, json::value_or(config, "invert_sigmas", false));
  TESSERA_TRY(const double terminal, json::value_or(config, "shift_terminal", 0.0));
  if (terminal != 0) c.shift_terminal = terminal;
  TESSERA_TRY(c.spacing, parse_spacing(config));
  TESSERA_TRY(c.time_shift, parse_time_shift(config));
  TESSERA_TRY(c.stochastic_sampling, json::value_or(config, "stochastic_sampling", false));
  TESSERA_TRY(c.use_flow_sigmas, json::value_or(config, "use_flow_sigmas", false));
  return c;
}

}  // namespace tessera::schedulers
