// The approximate tiers on data that is hard to round, against the error that PyTorch's own bf16 attention makes.
#include <gtest/gtest.h>

#include <ATen/CPUGeneratorImpl.h>

#include "attention/backends/cpu_kernel.h"
#include "kernels/attention.h"

namespace tessera::attention {
namespace {

using kernels::Isa;
using kernels::Tier;

constexpr int64_t kTokens = 1024, kHeads = 4, kDim = 128;

/// bf16 inputs [1, S, H, D].
struct Inputs {
  at::Tensor q, k, v;
};

Inputs normal_inputs() {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(20261130);
  const auto make = [&] { return at::randn({1, kTokens, kHeads, kDim}, generator); };
  at::Tensor q = make(), k = make(), v = make();
  return {q, k, v};
}

Inputs stored(const Inputs& in) {
  return {in.q.to(at::kBFloat16), in.k.to(at::kBFloat16), in.v.to(at::kBFloat16)};
}

Inputs normal() {
  return stored(normal_inputs());
}

/// A bias of 8 standard deviations on four channels of the keys, as rotary embeddings and biased projections make it.
Inputs biased_keys() {
  Inputs in = normal_inputs();
  for (const int64_t channel : {3, 40, 77, 120}) in.k.select(3, channel).add_(channel % 2 == 0 ? 8 : -8);
  return stored(in);
}

/// Logits with a standard deviation of 6.25: nearly all weight on a few keys.
Inputs peaky() {
  Inputs in = normal_inputs();
  in.q.mul_(2.5), in.k.mul_(2.5);
  return stored(in);
}

Inputs outlier_value_channel() {
  Inputs in = normal_inputs();
  in.v.select(3, 17).mul_(30);
  return stored(in);
}

/// Some keys four times as long as the others, and so in every block of keys.
Inputs long_keys() {
  Inputs in = normal_inputs();
  for (int64_t j = 5; j < kTokens; j += 97) in.k.select(1, j).mul_(4);
  return stored(in);
}

at::Tensor heads_first(const at::Tensor& x) {
  return x.transpose(1, 2);
}

at::Tensor exact_answer(const Inputs& in) {
  const auto wide = [](const at::Tensor& x) { return heads_first(x).to(at::kDouble); };
  const at::Tensor logits = at::matmul(wide(in.q), wide(in.k).transpose(2, 3)) / std::sqrt(static_cast<double>(kDim));
  return at::matmul(at::softmax(logits, -1), wide(in.v)).transpose(1, 2);
}

at::Tensor kernel_answer(const Inputs& in, Isa isa, Tier tier) {
  at::Tensor out = at::empty_like(in.q);
  const auto view = [](const at::Tensor& x) {
    return kernels::TensorView{x.const_data_ptr(), x.stride(0), x.stride(1), x.stride(2), x.stride(3)};
  };
  kernels::AttentionArgs a;
  a.dtype = DType::BF16, a.tier = tier, a.isa = isa;
  a.batch = 1, a.seq_q = a.seq_kv = kTokens, a.heads_q = a.heads_kv = kHeads, a.head_dim = a.value_dim = kDim;
  a.q = view(in.q), a.k = view(in.k), a.v = view(in.v);
  a.out = {out.data_ptr(), out.stride(0), out.stride(1), out.stride(2)};
  a.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(kDim)));
  const kernels::AttentionRun run = kernels::attention_forward(a, aten_threads());
  EXPECT_EQ(run.status, kernels::Status::Ok);
  EXPECT_EQ(run.isa, isa);
  EXPECT_EQ(run.exact_redone, 0);
  return out;
}

struct Error {
  double rms = 0, l1 = 0, max = 0;
};

Error error_of(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor d = (got.to(at::kDouble) - want).abs();
  return {std::sqrt(d.square().mean().item<double>()), (d.sum() / want.abs().sum()).item<double>(),
          d.max().item<double>()};
}

struct HardCase {
  const char* name;
  Inputs (*make)();
};

const HardCase kCases[] = {{"normal", normal},
                           {"biased_keys", biased_keys},
                           {"peaky", peaky},
                           {"outlier_value_channel", outlier_value_channel},
                           {"long_keys", long_keys}};

/// Those whose logits are no steeper than docs/attention.md promises tier Fast for.
const HardCase kGentleCases[] = {kCases[0], kCases[1], kCases[3]};

class HardData : public testing::TestWithParam<HardCase> {};

TEST_P(HardData, HighIsAsGoodAsTheBf16OfPyTorch) {
  const Inputs in = GetParam().make();
  const at::Tensor want = exact_answer(in);
  const at::Tensor torch =
      at::scaled_dot_product_attention(heads_first(in.q), heads_first(in.k), heads_first(in.v)).transpose(1, 2);
  const Error theirs = error_of(torch, want);
  for (const Isa isa : kernels::available_isas()) {
    if (isa == Isa::Scalar) continue;  // computes in fp32 at every tier
    for (const Tier tier : {Tier::Exact, Tier::High}) {
      const Error ours = error_of(kernel_answer(in, isa, tier), want);
      const std::string where = std::string(kernels::isa_name(isa)) + ", " + std::string(kernels::tier_name(tier));
      EXPECT_LE(ours.rms, 1.2 * theirs.rms) << where;
      EXPECT_LE(ours.l1, 1.2 * theirs.l1) << where;
      EXPECT_LE(ours.max, 2 * theirs.max) << where;
    }
  }
}

class GentleData : public testing::TestWithParam<HardCase> {};

TEST_P(GentleData, FastStaysBelowItsBound) {
  const Inputs in = GetParam().make();
  const at::Tensor want = exact_answer(in);
  for (const Isa isa : kernels::available_isas()) {
    if (isa == Isa::Scalar) continue;
    EXPECT_LE(error_of(kernel_answer(in, isa, Tier::Fast), want).l1, 2e-2) << kernels::isa_name(isa);
  }
}

const auto kName = [](const auto& info) { return std::string(info.param.name); };
INSTANTIATE_TEST_SUITE_P(Data, HardData, testing::ValuesIn(kCases), kName);
INSTANTIATE_TEST_SUITE_P(Data, GentleData, testing::ValuesIn(kGentleCases), kName);

}  // namespace
}  // namespace tessera::attention
