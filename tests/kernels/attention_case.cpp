#include "tests/kernels/attention_case.h"

#include <atomic>
#include <cmath>
#include <random>
#include <thread>

#include "base/strings.h"
#include "kernels/problem.h"

namespace tessera::test {
namespace {

using kernels::MaskKind;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

std::vector<std::byte> encode(const std::vector<float>& values, DType dtype) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_bytes(dtype)));
  for (size_t i = 0; i < values.size(); ++i) {
    kernels::store_element(bytes.data(), dtype, static_cast<int64_t>(i), values[i]);
  }
  return bytes;
}

std::vector<float> scaled(std::vector<float> values, float factor) {
  for (float& x : values) x *= factor;
  return values;
}

double difference(double got, double want) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  if (got == want) return 0;
  const double d = std::fabs(got - want);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

}  // namespace

std::vector<float> normal_values(size_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<float> values(count);
  for (float& x : values) {
    const double u = (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53;
    const double w = static_cast<double>(engine() >> 11) * 0x1p-53;
    x = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * w));
  }
  return values;
}

AttentionCase::AttentionCase(CaseSpec spec) : spec_(std::move(spec)) {
  const CaseSpec& s = spec_;
  const auto count = [](int64_t a, int64_t b, int64_t c, int64_t d) { return static_cast<size_t>(a * b * c * d); };
  q = encode(scaled(normal_values(count(s.batch, s.seq_q, s.heads_q, s.head_dim), s.seed), s.amplitude), s.dtype);
  k = encode(scaled(normal_values(count(s.batch, s.seq_kv, s.heads_kv, s.head_dim), s.seed + 1), s.amplitude), s.dtype);
  v = encode(normal_values(count(s.batch, s.seq_kv, s.heads_kv, s.value_dim), s.seed + 2), s.dtype);
  const size_t outputs = count(s.batch, s.seq_q, s.heads_q, s.value_dim);
  out_bytes = encode(std::vector<float>(outputs, 12345.0F), s.dtype);
  lse_.assign(count(s.batch, s.seq_q, s.heads_q, 1), 12345.0F);
  const size_t pairs = count(s.batch, s.heads_q, s.seq_q, s.seq_kv);
  const std::vector<float> noise = normal_values(pairs, s.seed + 3);
  for (const float x : noise) {
    if (s.mask == MaskKind::Bool) bool_mask_.push_back(x < 0.5F ? 1 : 0);
    if (s.mask == MaskKind::Additive) additive_mask_.push_back(x > 1.0F ? static_cast<float>(kMinusInfinity) : x);
  }
}

const std::vector<std::byte>& AttentionCase::buffer(char which) const {
  return which == 'q' ? q : which == 'k' ? k : v;
}

int64_t AttentionCase::at(char which, int64_t b, int64_t s, int64_t h, int64_t d) const {
  const int64_t seq = which == 'q' ? spec_.seq_q : spec_.seq_kv;
  const int64_t heads = which == 'q' ? spec_.heads_q : spec_.heads_kv;
  const int64_t dim = which == 'v' ? spec_.value_dim : spec_.head_dim;
  return ((b * seq + s) * heads + h) * dim + d;
}

float AttentionCase::get(char which, int64_t b, int64_t s, int64_t h, int64_t d) const {
  return kernels::load_element(buffer(which).data(), spec_.dtype, at(which, b, s, h, d));
}

void AttentionCase::set(char which, int64_t b, int64_t s, int64_t h, int64_t d, float value) {
  auto& bytes = which == 'q' ? q : which == 'k' ? k : v;
  kernels::store_element(bytes.data(), spec_.dtype, at(which, b, s, h, d), value);
}

int64_t AttentionCase::mask_at(int64_t b, int64_t h, int64_t i, int64_t j) const {
  const int64_t head = spec_.mask_per_head ? h : 0;
  const int64_t row = spec_.mask_per_query ? i : 0;
  return ((b * spec_.heads_q + head) * spec_.seq_q + row) * spec_.seq_kv + j;
}

void AttentionCase::set_mask(int64_t b, int64_t h, int64_t i, int64_t j, float value) {
  const auto index = static_cast<size_t>(mask_at(b, h, i, j));
  if (spec_.mask == MaskKind::Bool) bool_mask_[index] = value == 0 ? 1 : 0;
  if (spec_.mask == MaskKind::Additive) additive_mask_[index] = value;
}

double AttentionCase::bias(int64_t b, int64_t h, int64_t i, int64_t j) const {
  const int64_t shift = spec_.causal == kernels::Causal::BottomRight ? spec_.seq_kv - spec_.seq_q : 0;
  if (spec_.causal != kernels::Causal::None && j > i + shift) return kMinusInfinity;
  if (!spec_.key_lengths.empty() && j >= spec_.key_lengths[static_cast<size_t>(b)]) return kMinusInfinity;
  const auto index = static_cast<size_t>(mask_at(b, h, i, j));
  if (spec_.mask == MaskKind::Bool) return bool_mask_[index] != 0 ? 0.0 : kMinusInfinity;
  return spec_.mask == MaskKind::Additive ? static_cast<double>(additive_mask_[index]) : 0.0;
}

kernels::AttentionArgs AttentionCase::args() {
  const CaseSpec& s = spec_;
  kernels::AttentionArgs a;
  a.dtype = s.dtype;
  a.batch = s.batch, a.seq_q = s.seq_q, a.seq_kv = s.seq_kv;
  a.heads_q = s.heads_q, a.heads_kv = s.heads_kv, a.head_dim = s.head_dim, a.value_dim = s.value_dim;
  a.q = {q.data(), s.seq_q * s.heads_q * s.head_dim, s.heads_q * s.head_dim, s.head_dim};
  a.k = {k.data(), s.seq_kv * s.heads_kv * s.head_dim, s.heads_kv * s.head_dim, s.head_dim};
  a.v = {v.data(), s.seq_kv * s.heads_kv * s.value_dim, s.heads_kv * s.value_dim, s.value_dim};
  a.out = {out_bytes.data(), s.seq_q * s.heads_q * s.value_dim, s.heads_q * s.value_dim, s.value_dim};
  a.lse = lse_.data(), a.lse_stride_b = s.heads_q * s.seq_q, a.lse_stride_h = s.seq_q;
  a.scale = s.scale.value_or(static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.head_dim))));
  a.causal = s.causal;
  a.mask.kind = s.mask;
  a.mask.data = s.mask == MaskKind::Bool ? static_cast<const void*>(bool_mask_.data()) : additive_mask_.data();
  a.mask.stride_b = s.heads_q * s.seq_q * s.seq_kv;
  a.mask.stride_h = s.mask_per_head ? s.seq_q * s.seq_kv : 0;
  a.mask.stride_q = s.mask_per_query ? s.seq_kv : 0;
  a.mask.stride_k = 1;
  a.key_lengths = s.key_lengths.empty() ? nullptr : s.key_lengths.data();
  return a;
}

ReferenceProblem AttentionCase::reference() const {
  ReferenceProblem p;
  p.batch = spec_.batch, p.seq_q = spec_.seq_q, p.seq_kv = spec_.seq_kv;
  p.heads_q = spec_.heads_q, p.heads_kv = spec_.heads_kv;
  p.head_dim = spec_.head_dim, p.value_dim = spec_.value_dim;
  p.scale = spec_.scale.value_or(static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec_.head_dim))));
  p.q = [this](int64_t b, int64_t s, int64_t h, int64_t d) { return static_cast<double>(get('q', b, s, h, d)); };
  p.k = [this](int64_t b, int64_t s, int64_t h, int64_t d) { return static_cast<double>(get('k', b, s, h, d)); };
  p.v = [this](int64_t b, int64_t s, int64_t h, int64_t d) { return static_cast<double>(get('v', b, s, h, d)); };
  p.bias = [this](int64_t b, int64_t h, int64_t i, int64_t j) { return bias(b, h, i, j); };
  return p;
}

float AttentionCase::out(int64_t b, int64_t i, int64_t h, int64_t d) const {
  const int64_t index = ((b * spec_.seq_q + i) * spec_.heads_q + h) * spec_.value_dim + d;
  return kernels::load_element(out_bytes.data(), spec_.dtype, index);
}

float AttentionCase::lse(int64_t b, int64_t h, int64_t i) const {
  return lse_[static_cast<size_t>((b * spec_.heads_q + h) * spec_.seq_q + i)];
}

CaseError measure(const AttentionCase& c, const ReferenceResult& want) {
  CaseError e;
  double sum = 0;
  double squares = 0;
  const int64_t count = static_cast<int64_t>(want.out.size());
  for (int64_t i = 0; i < count; ++i) {
    const double expected = want.out[static_cast<size_t>(i)];
    const double d = difference(kernels::load_element(c.out_bytes.data(), c.spec().dtype, i), expected);
    e.out_max = std::fmax(e.out_max, d);
    e.out_l1 += d, squares += d * d, sum += std::fabs(expected);
  }
  if (sum > 0) e.out_l1 /= sum;
  if (count > 0) e.out_rms = std::sqrt(squares / static_cast<double>(count));
  for (int64_t b = 0, n = 0; b < c.spec().batch; ++b) {
    for (int64_t h = 0; h < c.spec().heads_q; ++h) {
      for (int64_t i = 0; i < c.spec().seq_q; ++i, ++n) {
        e.lse_max = std::fmax(e.lse_max, difference(c.lse(b, h, i), want.lse[static_cast<size_t>(n)]));
      }
    }
  }
  return e;
}

kernels::ParallelFor fresh_threads(int threads) {
  static const auto run = [](void* context, int64_t tasks, kernels::ParallelFor::Task task, void* data) {
    std::atomic<int64_t> next = 0;
    const auto work = [&] {
      for (int64_t i = next++; i < tasks; i = next++) task(data, i);
    };
    std::vector<std::jthread> pool;
    const auto extra = reinterpret_cast<intptr_t>(context) - 1;
    for (intptr_t i = 0; i < extra; ++i) pool.emplace_back(work);
    work();
  };
  return {run, reinterpret_cast<void*>(static_cast<intptr_t>(threads)), threads};
}

std::vector<kernels::Isa> isas() {
  return kernels::available_isas();
}

kernels::AttentionRun run(AttentionCase& c, kernels::Isa isa, kernels::Tier tier, int threads) {
  kernels::AttentionArgs args = c.args();
  args.isa = isa, args.tier = tier;
  return attention_forward(args, fresh_threads(threads));
}

void for_every_path(const std::function<void(kernels::Isa, kernels::Tier, const std::string&)>& check) {
  for (const kernels::Isa isa : isas()) {
    for (const kernels::Tier tier : {kernels::Tier::Exact, kernels::Tier::High, kernels::Tier::Fast}) {
      check(isa, tier, strings::join(isa_name(isa), ", ", tier_name(tier)));
    }
  }
}

}  // namespace tessera::test
