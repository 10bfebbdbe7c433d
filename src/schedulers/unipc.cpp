#include "schedulers/unipc.h"

#include <algorithm>

#include "base/check.h"

namespace tessera::schedulers {
namespace {

/// Evenly spaced from 1 down to 1 / num_train_timesteps, the last one left out.
std::vector<double> even_sigmas(int64_t num_train_timesteps, int64_t steps) {
  const double last = 1.0 / static_cast<double>(num_train_timesteps);
  const double stride = (last - 1) / static_cast<double>(steps);
  std::vector<double> sigmas;
  for (int64_t i = 0; i < steps; ++i) sigmas.push_back(1 + stride * static_cast<double>(i));
  return sigmas;
}

double shifted(const UniPcConfig& config, double sigma, const std::optional<double>& mu) {
  if (!config.use_dynamic_shifting) return config.flow_shift * sigma / (1 + (config.flow_shift - 1) * sigma);
  const double amount = config.linear_time_shift ? *mu : std::exp(*mu);
  return amount / (amount + (1 / sigma - 1));
}

void stretch_to(double terminal, std::vector<double>& sigmas) {
  const double scale = (1 - sigmas.back()) / (1 - terminal);
  for (double& sigma : sigmas) sigma = 1 - (1 - sigma) / scale;
}

/// The timesteps that the model sees: whole numbers, cut off.
at::Tensor timesteps_of(const std::vector<double>& levels, int64_t num_train_timesteps) {
  at::Tensor t = at::empty({static_cast<int64_t>(levels.size()) - 1}, at::kLong);
  for (int64_t i = 0; i < t.size(0); ++i) {
    t.data_ptr<int64_t>()[i] =
        static_cast<int64_t>(levels[static_cast<size_t>(i)] * static_cast<double>(num_train_timesteps));
  }
  return t;
}

at::Tensor sigmas_tensor(const std::vector<double>& levels) {
  at::Tensor sigmas = at::empty({static_cast<int64_t>(levels.size())}, at::kFloat);
  std::transform(levels.begin(), levels.end(), sigmas.data_ptr<float>(),
                 [](double s) { return static_cast<float>(s); });
  return sigmas;
}

}  // namespace

std::vector<double> unipc_sigmas(const UniPcConfig& config, const ScheduleRequest& request) {
  std::vector<double> sigmas =
      request.sigmas ? *request.sigmas : even_sigmas(config.num_train_timesteps, request.num_steps);
  for (double& sigma : sigmas) sigma = shifted(config, sigma, request.mu);
  if (config.shift_terminal != 0) stretch_to(config.shift_terminal, sigmas);
  // At exactly 1 there is no signal: its log would be infinite in the first two steps.
  constexpr double kBelowOne = 1e-6;
  if (std::abs(sigmas[0] - 1) < kBelowOne) sigmas[0] -= kBelowOne;
  sigmas.push_back(config.ends_at_zero ? 0 : sigmas.back());
  return sigmas;
}

UniPc::UniPc(const UniPcConfig& config, const ScheduleRequest& request) : config_(config) {
  TESSERA_CHECK(request.num_steps > 0, "a schedule of ", request.num_steps, " steps");
  const std::vector<double> exact = unipc_sigmas(config, request);
  timesteps_ = timesteps_of(exact, config.num_train_timesteps);
  sigmas_ = sigmas_tensor(exact);
  // The steps use the levels as the reference stores them: rounded to float32.
  for (const double sigma : exact) levels_.push_back(static_cast<double>(static_cast<float>(sigma)));
}

bool UniPc::corrects(int64_t index) const {
  const auto& off = config_.disable_corrector;
  return index > 0 && last_sample_.defined() && std::find(off.begin(), off.end(), index - 1) == off.end();
}

std::vector<double> UniPc::past_levels(int64_t from, int64_t order) const {
  std::vector<double> past;
  for (int64_t i = 1; i < order; ++i) past.push_back(levels_[static_cast<size_t>(from - i)]);
  return past;
}

at::Tensor UniPc::correct(const at::Tensor& clean, int64_t index) const {
  const std::vector<double> past = past_levels(index - 1, order_);
  const UniPcCoefficients c = unipc_corrector({.from = levels_[static_cast<size_t>(index - 1)],
                                               .to = levels_[static_cast<size_t>(index)],
                                               .past = past,
                                               .solver = config_.solver});
  at::Tensor out = last_sample_ * c.sample;
  out.add_(clean_[0], c.base).add_(clean, c.current);
  for (size_t k = 0; k < c.past.size(); ++k) out.add_(clean_[k + 1], c.past[k]);
  return out;
}

at::Tensor UniPc::predict(const at::Tensor& sample, int64_t index) const {
  const std::vector<double> past = past_levels(index, order_);
  const UniPcCoefficients c = unipc_predictor({.from = levels_[static_cast<size_t>(index)],
                                               .to = levels_[static_cast<size_t>(index + 1)],
                                               .past = past,
                                               .solver = config_.solver});
  at::Tensor out = sample * c.sample;
  out.add_(clean_[0], c.base);
  for (size_t k = 0; k < c.past.size(); ++k) out.add_(clean_[k + 1], c.past[k]);
  return out;
}

at::Tensor UniPc::step(const at::Tensor& model_output, int64_t index, const at::Tensor& sample) {
  const int64_t steps = timesteps_.size(0);
  TESSERA_CHECK(index >= 0 && index < steps, "step ", index, " of ", steps);
  const at::Tensor wide = sample.to(at::kFloat);
  const at::Tensor clean = at::add(wide, model_output.to(at::kFloat), -levels_[static_cast<size_t>(index)]);
  const at::Tensor start = corrects(index) ? correct(clean, index) : wide;

  clean_.push_front(clean);
  if (static_cast<int64_t>(clean_.size()) > config_.solver_order) clean_.pop_back();
  const int64_t order =
      config_.lower_order_final ? std::min(config_.solver_order, steps - index) : config_.solver_order;
  // The history grows by one prediction a step, and so may the order.
  order_ = std::min(order, static_cast<int64_t>(clean_.size()));
  last_sample_ = start;
  return predict(start, index).to(sample.scalar_type());
}

}  // namespace tessera::schedulers
