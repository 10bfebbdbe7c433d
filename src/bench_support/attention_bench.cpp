#include "bench_support/attention_bench.h"

#include <chrono>

#include "attention/backends/cpu_kernel.h"
#include "base/strings.h"

namespace tessera::bench_support {
namespace {

using kernels::Tier;

// A round lasts at least this long, so that the clock and one interrupt do not decide it.
constexpr double kRoundSeconds = 2e-3;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

kernels::AttentionArgs arguments(const AttentionTensors& t, Tier tier, const at::Tensor& out) {
  const AttentionShape& s = t.shape;
  const auto view = [](const at::Tensor& x) {
    return kernels::TensorView{x.const_data_ptr(), x.stride(0), x.stride(1), x.stride(2), x.stride(3)};
  };
  kernels::AttentionArgs a;
  a.dtype = t.q.scalar_type() == at::kFloat ? DType::F32 : t.q.scalar_type() == at::kHalf ? DType::F16 : DType::BF16;
  a.tier = tier;
  a.batch = s.batch, a.seq_q = s.seq_q, a.seq_kv = s.seq_kv, a.heads_q = s.heads_q, a.heads_kv = s.heads_kv;
  a.head_dim = s.head_dim, a.value_dim = s.head_dim;
  a.q = view(t.q), a.k = view(t.k), a.v = view(t.v);
  a.out.data = out.data_ptr();
  a.out.stride_b = out.stride(0), a.out.stride_s = out.stride(1), a.out.stride_h = out.stride(2);
  a.scale = static_cast<float>(t.scale);
  a.causal = s.causal ? kernels::Causal::TopLeft : kernels::Causal::None;
  return a;
}

/// A contender ready to be called again and again; `out` holds the latest result as [B, Sq, Hq, D].
struct Runner {
  Contender contender;
  const AttentionTensors* tensors = nullptr;
  kernels::AttentionArgs args;
  std::vector<int64_t> key_lengths;
  at::Tensor out;

  Status call() {
    if (contender.backend == "torch_sdpa") {
      const AttentionTensors& t = *tensors;
      out = at::scaled_dot_product_attention(t.torch_q, t.torch_k, t.torch_v, t.torch_mask, 0.0, t.shape.causal,
                                             t.scale, t.shape.heads_q != t.shape.heads_kv)
                .transpose(1, 2);
      return {};
    }
    out = at::empty_like(tensors->q);  // as PyTorch makes a new one for each call
    args.out.data = out.data_ptr();
    const kernels::AttentionRun run = kernels::attention_forward(args, attention::aten_threads());
    if (run.status == kernels::Status::Ok) return {};
    return fail(ErrorCode::Unsupported, contender.backend + ": " + std::string(kernels::status_text(run.status)));
  }
};

Runner make_runner(const AttentionTensors& tensors, const Contender& contender) {
  Runner r{contender, &tensors, {}, {}, {}};
  if (contender.backend == "torch_sdpa") return r;
  r.out = at::empty_like(tensors.q);
  r.args = arguments(tensors, contender.tier, r.out);
  return r;
}

/// Seconds of one call, the mean of `calls`.
Result<double> time_calls(Runner& runner, int64_t calls) {
  const double start = now();
  for (int64_t i = 0; i < calls; ++i) TESSERA_TRY_OK(runner.call());
  return (now() - start) / static_cast<double>(calls);
}

struct Entry {
  Runner runner;
  int64_t calls = 1;
  std::vector<double> seconds;
};

Result<std::vector<Entry>> prepare(const AttentionTensors& tensors, const std::vector<Contender>& contenders) {
  std::vector<Entry> entries;
  for (const Contender& c : contenders) entries.push_back({make_runner(tensors, c), 1, {}});
  for (Entry& e : entries) {
    if (tensors.shape.key_length < tensors.shape.seq_kv) {
      e.runner.key_lengths.assign(static_cast<size_t>(tensors.shape.batch), tensors.shape.key_length);
      e.runner.args.key_lengths = e.runner.key_lengths.data();
    }
    TESSERA_TRY_OK(e.runner.call());
    TESSERA_TRY(const double warm, time_calls(e.runner, 1));
    e.calls = std::max<int64_t>(1, static_cast<int64_t>(kRoundSeconds / std::max(warm, 1e-6)));
  }
  return entries;
}

}  // namespace

Result<std::vector<Contender>> parse_contenders(const std::string& backends, const std::string& tier,
                                                std::vector<Refusal>& refused) {
  const bool all = tier == "all";
  std::vector<Contender> chosen;
  const auto add = [&](const std::string& backend, Tier own) {
    if (all || tier_name(own) == tier) chosen.push_back({backend, own});
  };
  for (const std::string& part : strings::split(backends, ',')) {
    const std::string name = strings::lower(strings::trim(part));
    const size_t before = chosen.size();
    if (name == "cpu_flash") add(name, Tier::Exact), add(name, Tier::High);
    if (name == "cpu_sage") add(name, Tier::Fast);
    if (name == "torch_sdpa" || name == "sdpa") chosen.push_back({"torch_sdpa", Tier::Exact});
    if (chosen.size() != before) continue;
    if (name != "cpu_flash" && name != "cpu_sage") {
      return fail(ErrorCode::Usage, strings::join("no CPU attention to measure is named '", name, "'"),
                  "known: cpu_flash, cpu_sage, torch_sdpa");
    }
    refused.push_back({name, tier, "this backend has no such tier"});
  }
  return chosen;
}

Result<std::vector<Measurement>> measure(const AttentionTensors& tensors, const std::vector<Contender>& contenders,
                                         int rounds) {
  TESSERA_TRY(std::vector<Entry> entries, prepare(tensors, contenders));
  for (int round = 0; round < rounds; ++round) {
    for (Entry& e : entries) {
      TESSERA_TRY(const double seconds, time_calls(e.runner, e.calls));
      e.seconds.push_back(seconds);
    }
  }
  std::vector<Measurement> results;
  for (const Entry& e : entries) {
    results.push_back({e.runner.contender, statistics_of(e.seconds), max_abs_error(tensors, e.runner.out)});
  }
  return results;
}

}  // namespace tessera::bench_support
