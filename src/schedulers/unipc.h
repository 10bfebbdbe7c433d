// The multistep sampler of the video models: diffusers' UniPCMultistepScheduler on flow sigmas.
#pragma once

#include "tensor/aten.h"

#include <deque>

#include "base/json.h"
#include "base/result.h"
#include "schedulers/scheduler.h"
#include "schedulers/unipc_coefficients.h"

namespace tessera::schedulers {

/// scheduler_config.json, as far as flow-matching models use it.
struct UniPcConfig {
  int64_t num_train_timesteps = 1000;
  int64_t solver_order = 2;
  UniPcSolver solver = UniPcSolver::Bh2;
  bool lower_order_final = true;
  std::vector<int64_t> disable_corrector;  ///< steps after which the corrector stays off
  double flow_shift = 1.0;
  bool use_dynamic_shifting = false;
  bool linear_time_shift = false;
  double shift_terminal = 0;  ///< 0: the schedule is not stretched
  bool ends_at_zero = true;   ///< else the last level is repeated
};

/// Errors: BadFile for a field of the wrong type; Unsupported for noise schedules that no flow model uses
/// (epsilon prediction, Karras spacing, thresholding, …), each named.
Result<UniPcConfig> parse_unipc_config(const Json& config);

/// The schedule of one request in float64; the last level is where sampling ends.
std::vector<double> unipc_sigmas(const UniPcConfig& config, const ScheduleRequest& request);

/// Predictor-corrector steps of growing order. Source: Zhao et al. 2023, arXiv 2302.04867.
class UniPc final : public Scheduler {
 public:
  UniPc(const UniPcConfig& config, const ScheduleRequest& request);

  const at::Tensor& timesteps() const override { return timesteps_; }  // [steps] int64
  const at::Tensor& sigmas() const override { return sigmas_; }
  at::Tensor step(const at::Tensor& model_output, int64_t index, const at::Tensor& sample) override;

 private:
  bool corrects(int64_t index) const;
  at::Tensor correct(const at::Tensor& clean, int64_t index) const;
  at::Tensor predict(const at::Tensor& sample, int64_t index) const;
  std::vector<double> past_levels(int64_t from, int64_t order) const;

  UniPcConfig config_;
  at::Tensor timesteps_;
  at::Tensor sigmas_;
  std::vector<double> levels_;    // sigmas_ as the steps use them
  std::deque<at::Tensor> clean_;  // predictions of the clean sample, latest first
  at::Tensor last_sample_;        // what the latest predictor step started from
  int64_t order_ = 0;             // of the latest step
};

/// Row of schedulers/catalog. Errors: those of parse_unipc_config; Misuse when mu is missing.
Result<std::unique_ptr<Scheduler>> make_unipc(const Json& config, const ScheduleRequest& request);

}  // namespace tessera::schedulers
