#include "attention/policy/rules.h"

#include <algorithm>

namespace tessera::attention {
namespace {

using platform::Capability;
using platform::DeviceProfile;

// One tile of the Blackwell kernels. A side below it runs on cuDNN's sm80-class kernel, two to three times slower than
// FA4.
constexpr int64_t kTileRows = 128;
// FA4 wins by 1.5-2 % from here on the B300 under its power cap.
constexpr int64_t kLongSelf = 16384;

bool any_device(const DeviceProfile&) {
  return true;
}

bool any_problem(const AttentionProblem&) {
  return true;
}

bool outside_cudnn_comparison(const AttentionProblem& p) {
  const bool half = p.dtype == DType::F16 || p.dtype == DType::BF16;
  return p.is_causal() || !p.is_dense() || p.is_gqa() || p.needs_lse || !half;
}

bool one_side_below_a_tile(const AttentionProblem& p) {
  return std::min(p.seq_q, p.seq_kv) < kTileRows && std::max(p.seq_q, p.seq_kv) >= kTileRows;
}

bool long_self_128(const AttentionProblem& p) {
  return p.head_dim == 128 && p.seq_q == p.seq_kv && p.seq_q >= kLongSelf;
}

bool batched_1024_64(const AttentionProblem& p) {
  return p.head_dim == 64 && p.seq_q == 1024 && p.seq_kv == 1024 && p.batch >= 4;
}

bool is_sm103(const DeviceProfile& d) {
  return d.is_cuda() && d.sm == Capability{10, 3};
}

bool is_blackwell(const DeviceProfile& d) {
  return d.is_blackwell();
}

constexpr Rule kDynamic[] = {
    {"not-compared", Preference::Fa,
     "cuDNN was only measured on dense, non-causal fp16/bf16 calls with equal head counts and no log-sum-exp "
     "(SGLang-Diffusion 0.5.23)",
     any_device, outside_cudnn_comparison},
    {"sm103-long-self", Preference::Fa,
     "B300: FA4 1.5-2 % faster for D=128 self-attention of 16K-75.6K tokens under the power cap (SGLang-Diffusion "
     "0.5.23)",
     is_sm103, long_self_128},
    {"sm10x-short-side", Preference::Fa,
     "B300, 126x1536: cuDNN 24.9 us, FA4 12.1 us; a side below one 128-row tile drops cuDNN to an sm80-class kernel "
     "(SGLang-Diffusion 0.5.23; cuDNN 9.19's own heuristics agree)",
     is_blackwell, one_side_below_a_tile},
    {"sm10x-dense", Preference::Cudnn,
     "B200: cuDNN 1.25-1.5 times FA4 up to 506K tokens, 1.24-1.98 times on eleven production shapes "
     "(SGLang-Diffusion 0.5.23)",
     is_blackwell, any_problem},
    {"batched-1024-d64", Preference::Cudnn,
     "H100, B=4, S=1024, D=64: cuDNN 67.6 us, FA3 68.5 us; B=8: 105.5 and 113.2 us (sgl-project/sglang#30090)",
     any_device, batched_1024_64},
    {"otherwise", Preference::Fa, "H100, S=576, D=64: FA3 40.7 us, cuDNN 48.4 us (sgl-project/sglang#30090)",
     any_device, any_problem},
};

constexpr QuantPolicy kQuant[] = {
    {"modelopt_fp4", Choice{ChoiceKind::AnyFa, BackendId::Fa4, Demand::Usual},
     "NVFP4 weights keep FlashAttention's rounding: cuDNN moved a 50-step video to 28.5 dB PSNR at the same seed "
     "(SGLang-Diffusion 0.5.23)",
     is_blackwell},
};

}  // namespace

std::span<const Rule> dynamic_rules() {
  return kDynamic;
}

const Rule& dynamic_rule(const AttentionProblem& problem, const DeviceProfile& device) {
  return *std::ranges::find_if(
      kDynamic, [&](const Rule& row) { return row.device_matches(device) && row.problem_matches(problem); });
}

std::span<const QuantPolicy> quant_policies() {
  return kQuant;
}

const QuantPolicy* quant_policy(std::string_view format, const DeviceProfile& device) {
  const auto* row = std::ranges::find_if(
      kQuant, [&](const QuantPolicy& p) { return p.format == format && p.device_matches(device); });
  return row == std::end(kQuant) ? nullptr : row;
}

}  // namespace tessera::attention
