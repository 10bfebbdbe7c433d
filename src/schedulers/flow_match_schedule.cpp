#include "schedulers/flow_match_schedule.h"

#include "base/check.h"
#include "base/strings.h"
#include "schedulers/beta_quantile.h"

namespace tessera::schedulers {
namespace {

/// numpy.linspace: the last value is `to` itself.
std::vector<double> linspace(double from, double to, int64_t count) {
  std::vector<double> out(static_cast<size_t>(count));
  const double step = count > 1 ? (to - from) / static_cast<double>(count - 1) : 0;
  for (int64_t i = 0; i < count; ++i) out[i] = from + static_cast<double>(i) * step;
  if (count > 1) out.back() = to;
  return out;
}

/// T is the type that numpy would compute in.
template <typename T>
T static_shift(T sigma, double shift) {
  return static_cast<T>(shift) * sigma / (T{1} + static_cast<T>(shift - 1) * sigma);
}

template <typename T>
void shift_in_place(std::vector<T>& sigmas, const FlowMatchConfig& config, std::optional<double> mu) {
  if (!config.use_dynamic_shifting) {
    for (T& sigma : sigmas) sigma = static_shift(sigma, config.shift);
    return;
  }
  TESSERA_CHECK(mu.has_value(), "dynamic shifting needs mu");
  const T amount = static_cast<T>(config.time_shift == TimeShift::Exponential ? std::exp(*mu) : *mu);
  for (T& sigma : sigmas) sigma = amount / (amount + (T{1} / sigma - T{1}));
}

template <typename T>
void stretch_to_terminal(std::vector<T>& sigmas, double terminal) {
  const T scale = (T{1} - sigmas.back()) / static_cast<T>(1 - terminal);
  for (T& sigma : sigmas) sigma = T{1} - (T{1} - sigma) / scale;
}

std::vector<double> karras(double first, double last, int64_t count) {
  constexpr double kRho = 7.0;  // of Karras et al. 2022, arXiv 2206.00364
  const double high = std::pow(first, 1 / kRho);
  const double low = std::pow(last, 1 / kRho);
  std::vector<double> out = linspace(0, 1, count);
  for (double& x : out) x = std::pow(high + x * (low - high), kRho);
  return out;
}

std::vector<double> exponential(double first, double last, int64_t count) {
  std::vector<double> out = linspace(std::log(first), std::log(last), count);
  for (double& x : out) x = std::exp(x);
  return out;
}

std::vector<double> beta(double first, double last, int64_t count) {
  constexpr double kShape = 0.6;  // both parameters; Lee et al. 2024, arXiv 2407.12173
  std::vector<double> out = linspace(0, 1, count);
  for (double& x : out) x = last + beta_quantile(1 - x, kShape, kShape) * (first - last);
  return out;
}

std::vector<double> respace(const FlowMatchConfig& config, const std::vector<double>& sigmas) {
  const auto count = static_cast<int64_t>(sigmas.size());
  switch (config.spacing) {
    case SigmaSpacing::AsShifted:
      return sigmas;
    case SigmaSpacing::Karras:
      return karras(sigmas.front(), sigmas.back(), count);
    case SigmaSpacing::Exponential:
      return exponential(sigmas.front(), sigmas.back(), count);
    case SigmaSpacing::Beta:
      return beta(sigmas.front(), sigmas.back(), count);
  }
  throw Bug("a sigma spacing outside its enum");
}

template <typename T>
std::vector<double> shifted(const std::vector<double>& from, const FlowMatchConfig& config, std::optional<double> mu) {
  std::vector<T> sigmas(from.begin(), from.end());
  shift_in_place(sigmas, config, mu);
  // A terminal of 0 means "none", as in the reference.
  if (config.shift_terminal.value_or(0) != 0) stretch_to_terminal(sigmas, *config.shift_terminal);
  return {sigmas.begin(), sigmas.end()};
}

/// The sampler's own sigmas: evenly spaced between the ends of the training schedule, which are kept in float32.
std::vector<double> default_sigmas(const FlowMatchConfig& config, int64_t count) {
  const auto train = static_cast<float>(config.num_train_timesteps);
  float high = 1.0f;
  float low = 1.0f / train;
  if (!config.use_dynamic_shifting) {
    high = static_shift(high, config.shift);
    low = static_shift(low, config.shift);
  }
  std::vector<double> out = linspace(static_cast<double>(high) * static_cast<double>(train),
                                     static_cast<double>(low) * static_cast<double>(train), count);
  for (double& x : out) x /= static_cast<double>(train);
  return out;
}

}  // namespace

std::vector<double> even_sigmas(int64_t steps) {
  return linspace(1.0, 1.0 / static_cast<double>(steps), steps);
}

double dynamic_shift(const FlowMatchConfig& config, int64_t image_tokens) {
  const double slope = (config.max_shift - config.base_shift) /
                       static_cast<double>(config.max_image_seq_len - config.base_image_seq_len);
  const double offset = config.base_shift - slope * static_cast<double>(config.base_image_seq_len);
  return static_cast<double>(image_tokens) * slope + offset;
}

FlowMatchSchedule flow_match_schedule(const FlowMatchConfig& config, const ScheduleRequest& request) {
  TESSERA_CHECK(request.num_steps >= 1, "a schedule of ", request.num_steps, " steps");
  std::vector<double> values;
  if (request.sigmas) {
    TESSERA_CHECK(static_cast<int64_t>(request.sigmas->size()) == request.num_steps, "one sigma per step");
    values = shifted<float>(*request.sigmas, config, request.mu);
  } else {
    values = shifted<double>(default_sigmas(config, request.num_steps), config, request.mu);
  }
  values = respace(config, values);
  at::Tensor sigmas = at::empty({request.num_steps}, at::kFloat);
  for (int64_t i = 0; i < request.num_steps; ++i) {
    sigmas.mutable_data_ptr<float>()[i] = static_cast<float>(values[static_cast<size_t>(i)]);
  }
  if (config.invert_sigmas) sigmas = 1 - sigmas;
  const at::Tensor end = at::full({1}, config.invert_sigmas ? 1.0 : 0.0, at::kFloat);
  return {at::cat({sigmas, end}), sigmas * config.num_train_timesteps};
}

}  // namespace tessera::schedulers
