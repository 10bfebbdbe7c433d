// The poison, the sampled rows and their bounds.
#include "attention/canary.h"

#include <limits>
#include <set>

#include "attention/backends/reference.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

// Quiet NaNs with a payload: arithmetic of processors makes the one with the payload 0.
constexpr int64_t kPoison64 = 0x7ff8dead0000beef;
constexpr int64_t kPoison32 = 0x7fdead42;
constexpr int64_t kPoison16Half = 0x7edd;
constexpr int64_t kPoison16Bf16 = 0x7fdd;

struct BitPattern {
  at::ScalarType integer;
  int64_t bits;
};

BitPattern poison_of(at::ScalarType type) {
  if (type == at::kDouble) return {at::kLong, kPoison64};
  if (type == at::kHalf) return {at::kShort, kPoison16Half};
  if (type == at::kBFloat16) return {at::kShort, kPoison16Bf16};
  return {at::kInt, kPoison32};
}

void poison_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  const BitPattern pattern = poison_of(tensor.scalar_type());
  tensor.view(pattern.integer).fill_(pattern.bits);
}

bool has_poison(const at::Tensor& tensor) {
  if (!tensor.defined()) return false;
  const BitPattern pattern = poison_of(tensor.scalar_type());
  return (tensor.view(pattern.integer) == pattern.bits).any().item<bool>();
}

/// What the rounding of a dtype's own arithmetic may do to a value of size 1.
double rounding_bound(at::ScalarType type) {
  if (type == at::kDouble) return 1e-10;
  if (type == at::kHalf) return 2e-3;
  if (type == at::kBFloat16) return 1.6e-2;
  return 1e-5;
}

// A logit of size L is off by some units of 2^-24 L, and the weights by that factor; 8 units were enough for every
// golden case with logits of 1e4 on every instruction set.
double logit_slack(double max_logit) {
  return 8 * max_logit * 0x1p-24;
}

// Below the smallest normal number a kernel may flush to zero.
constexpr double kFlushed = std::numeric_limits<float>::min();

// A few rows scatter more than a whole tensor, for which the catalog's bound is stated.
constexpr double kSampleSlack = 3;

Status wrong(std::string what) {
  return fail(ErrorCode::NumericalFault, std::move(what), "the kernel is not used any more; report it to its project");
}

bool all_finite(const AttentionInputs& in) {
  return at::isfinite(in.query).all().item<bool>() && at::isfinite(in.key).all().item<bool>() &&
         at::isfinite(in.value).all().item<bool>();
}

Status check_everywhere(const AttentionInputs& in, const AttentionOutputs& outputs, double l1_bound) {
  if (has_poison(outputs.out)) return wrong("left a part of its output unwritten");
  if (has_poison(outputs.lse)) return wrong("left a part of its LSE unwritten");
  if (!all_finite(in)) return {};
  if (!at::isfinite(outputs.out).all().item<bool>()) return wrong("made NaN or infinity out of finite inputs");
  const double largest = in.value.abs().max().item<double>();
  const double slack = 1 + rounding_bound(in.value.scalar_type()) + l1_bound;
  const double found = outputs.out.abs().max().item<double>();
  if (found <= largest * slack) return {};
  return wrong(strings::join("gave an output of ", found, " although no value is over ", largest));
}

/// First, middle and last of n, without repetition.
std::set<int64_t> sample(int64_t n) {
  return {0, n / 2, n - 1};
}

struct Deviation {
  double difference = 0, total = 0;  ///< sums over the sampled rows of |got - want| and |want|
  double worst = 0;                  ///< largest single difference
  double worst_lse = 0;
  bool nan_differs = false;
  double max_value = 0, max_logit = 0;
};

bool same_special(double got, double want) {
  return std::isnan(want) ? std::isnan(got) : std::isinf(want) && got == want;
}

void compare(double got, double want, double& worst, Deviation& deviation) {
  if (!std::isfinite(want) || !std::isfinite(got)) {
    deviation.nan_differs = deviation.nan_differs || !same_special(got, want);
    return;
  }
  worst = std::max(worst, std::abs(got - want));
}

void measure_row(ReferenceHead& head, const at::Tensor& got, const at::Tensor& lse, int64_t index,
                 Deviation& deviation) {
  const at::Tensor host = got.to(at::kCPU, at::kDouble).contiguous();
  std::vector<double> want(static_cast<size_t>(host.numel()));
  const double want_lse = head.row(index, want);
  const double* data = host.const_data_ptr<double>();
  for (size_t d = 0; d < want.size(); ++d) {
    compare(data[d], want[d], deviation.worst, deviation);
    if (!std::isfinite(want[d]) || !std::isfinite(data[d])) continue;
    deviation.difference += std::max(std::abs(data[d] - want[d]) - kFlushed, 0.0);
    deviation.total += std::abs(want[d]);
  }
  if (lse.defined()) compare(lse.item<double>(), want_lse, deviation.worst_lse, deviation);
}

Deviation measure(const AttentionInputs& in, const AttentionOutputs& outputs) {
  const Sizes s = sizes_of(in);
  Deviation deviation;
  for (const int64_t item : sample(s.batch * s.heads_q)) {
    const int64_t b = item / s.heads_q;
    const int64_t h = item % s.heads_q;
    ReferenceHead head(in, b, h);
    for (const int64_t i : sample(s.seq_q)) {
      const at::Tensor lse = outputs.lse.defined() ? outputs.lse.select(0, b).select(0, h).select(0, i) : at::Tensor();
      measure_row(head, outputs.out.select(0, b).select(0, i).select(0, h), lse, i, deviation);
    }
    deviation.max_value = std::max(deviation.max_value, head.max_value());
    deviation.max_logit = std::max(deviation.max_logit, head.max_logit());
  }
  return deviation;
}

}  // namespace

Result<CanaryMode> parse_canary(std::string_view name) {
  if (name == "off") return CanaryMode::Off;
  if (name == "first") return CanaryMode::First;
  if (name == "always") return CanaryMode::Always;
  return fail(ErrorCode::Usage, strings::join("unknown --attention-canary '", name, "'"), "use off, first or always");
}

bool canary_wanted(CanaryMode mode, BackendId backend, bool proven) {
  switch (mode) {
    case CanaryMode::Off:
      return false;
    case CanaryMode::First:
      return !proven;
    case CanaryMode::Always:
      return true;
    case CanaryMode::Default:
      break;
  }
  const bool ours = backend == BackendId::Reference || backend == BackendId::CpuFlash ||
                    backend == BackendId::CpuSage || backend == BackendId::TorchSdpa ||
                    backend == BackendId::TorchCudnnSdpa;
  return !ours && !proven;
}

void poison(const AttentionOutputs& outputs) {
  poison_tensor(outputs.out);
  poison_tensor(outputs.lse);
}

Status check_outputs(const AttentionInputs& inputs, const AttentionOutputs& outputs, double l1_bound) {
  TESSERA_TRY_OK(check_everywhere(inputs, outputs, l1_bound));
  const Deviation d = measure(inputs, outputs);
  if (d.nan_differs) return wrong("has NaN or infinity where the reference has none, or the other way round");
  const double exact_bound = rounding_bound(inputs.query.scalar_type()) + logit_slack(d.max_logit);
  const double lse_bound = (exact_bound + l1_bound) * (1 + d.max_logit);
  if (d.worst_lse > lse_bound) {
    return wrong(strings::join("has an LSE off by ", d.worst_lse, ", allowed are ", lse_bound));
  }
  if (l1_bound > 0) {
    const double allowed = kSampleSlack * (l1_bound + exact_bound) * d.total;
    if (d.difference <= allowed) return {};
    return wrong(strings::join("is off by ", d.difference / std::max(d.total, 1e-300), " (L1, relative), allowed are ",
                               kSampleSlack * (l1_bound + exact_bound)));
  }
  const double allowed = exact_bound * d.max_value + kFlushed;
  if (d.worst <= allowed) return {};
  return wrong(strings::join("is off by ", d.worst, ", allowed are ", allowed));
}

}  // namespace tessera::attention
