// Builds the tensors of the problem table and reads them back for the reference.
#include "tests/attention/problems.h"

#include <limits>

namespace tessera::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor random(at::IntArrayRef sizes, uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  return at::randn(sizes, generator, at::TensorOptions().dtype(at::kFloat));
}

/// [B, S, H, D] in the wanted memory layout.
at::Tensor laid_out(const std::array<int64_t, 4>& n, Memory memory, at::ScalarType dtype, uint64_t seed) {
  const auto [b, s, h, d] = n;
  const auto make = [&](at::IntArrayRef sizes) { return random(sizes, seed).to(dtype); };
  switch (memory) {
    case Memory::Dense:
      return make({b, s, h, d});
    case Memory::HeadMajor:
      return make({b, h, s, d}).transpose(1, 2);
    case Memory::PackedQkv:
      return make({b, s, 3, h, d}).select(2, static_cast<int64_t>(seed % 3));
    case Memory::EverySecondRow:
      return make({b, 2 * s, h, d}).slice(1, 1, 2 * s, 2);
    case Memory::LastStrided:
      return make({b, s, d, h}).transpose(2, 3);
    case Memory::HeadSlice:
      return make({b, s, h, 2 * d}).narrow(3, d / 2, d);
    case Memory::HeadsBroadcast:
      return make({b, s, 1, d}).expand({b, s, h, d});
    case Memory::BatchBroadcast:
      return make({1, s, h, d}).expand({b, s, h, d});
  }
  return {};
}

at::Tensor random_bool(at::IntArrayRef sizes, double share) {
  return random(sizes, 77) < share;
}

/// True for queries whose number is a multiple of 5: they may see nothing.
at::Tensor dead_queries(int64_t seq_q) {
  return (at::arange(seq_q, at::TensorOptions().dtype(at::kLong)).remainder(5) == 0).unsqueeze(1);
}

Mask make_mask(const Problem& p, std::vector<int64_t>& lengths) {
  const Sizes& s = p.sizes;
  const auto boolean = [&](const at::Tensor& mask) { return BoolMask{*expand_mask(mask, s)}; };
  const auto additive = [&](const at::Tensor& mask) { return AdditiveMask{*expand_mask(mask, s)}; };
  const at::Tensor bias = random({s.seq_q, s.seq_kv}, 78);
  switch (p.mask) {
    case MaskShape::None:
      return std::monostate{};
    case MaskShape::Lengths:
      for (int64_t b = 0; b < s.batch; ++b) lengths.push_back(b == 1 ? 0 : s.seq_kv - 3 * b - 1);
      return KeyLengths{lengths};
    case MaskShape::BoolFull:
      return boolean(random_bool({s.batch, s.heads_q, s.seq_q, s.seq_kv}, 0.5));
    case MaskShape::BoolPadding:
      return boolean(random_bool({s.batch, 1, 1, s.seq_kv}, 0.8));
    case MaskShape::BoolPlane:
      return boolean(random_bool({s.seq_q, s.seq_kv}, 0.2));
    case MaskShape::BoolDead:
      return boolean(random_bool({s.seq_q, s.seq_kv}, 0.5).logical_and(dead_queries(s.seq_q).logical_not()));
    case MaskShape::AddFull:
      return additive(random({s.batch, s.heads_q, s.seq_q, s.seq_kv}, 79));
    case MaskShape::AddHeads:
      return additive(random({1, s.heads_q, s.seq_q, s.seq_kv}, 80));
    case MaskShape::AddInf:
      return additive(bias.masked_fill(random_bool({s.seq_q, s.seq_kv}, 0.3), -kInfinity));
    case MaskShape::AddDead:
      return additive(bias.masked_fill(dead_queries(s.seq_q), -kInfinity));
  }
  return std::monostate{};
}

at::Tensor doubles(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).contiguous();
}

/// Reads element (i, j, k, l) of a contiguous copy; the returned function owns it.
std::function<double(int64_t, int64_t, int64_t, int64_t)> reader(const at::Tensor& tensor) {
  const at::Tensor copy = doubles(tensor);
  return [copy](int64_t i, int64_t j, int64_t k, int64_t l) {
    const auto n = copy.sizes();
    return copy.const_data_ptr<double>()[((i * n[1] + j) * n[2] + k) * n[3] + l];
  };
}

std::function<double(int64_t, int64_t, int64_t, int64_t)> bias_reader(const AttentionInputs& in) {
  if (const auto* mask = std::get_if<AdditiveMask>(&in.mask)) return reader(mask->bias);
  if (const auto* mask = std::get_if<BoolMask>(&in.mask)) {
    return reader(at::zeros({1}).expand_as(mask->allowed).masked_fill(mask->allowed.logical_not(), -kInfinity));
  }
  return [](int64_t, int64_t, int64_t, int64_t) { return 0.0; };
}

double difference(double got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isinf(want)) return got == want ? 0 : kInfinity;
  return std::isfinite(got) ? std::abs(got - want) : kInfinity;
}

Problem packed(Problem p, std::vector<int64_t> query_bounds, std::vector<int64_t> key_bounds = {}) {
  p.query_bounds = std::move(query_bounds);
  p.key_bounds = key_bounds.empty() ? p.query_bounds : std::move(key_bounds);
  return p;
}

/// True when a packed call lets query i see key j, causality aside; `offset` is where the key's number starts to count.
bool same_sequence(const Packed& packed, int64_t i, int64_t j, int64_t& query, int64_t& key, int64_t& shift) {
  const auto& [q, k] = packed;
  for (size_t s = 0; s + 1 < q.size(); ++s) {
    if (i < q[s] || i >= q[s + 1] || j < k[s] || j >= k[s + 1]) continue;
    query = i - q[s];
    key = j - k[s];
    shift = (k[s + 1] - k[s]) - (q[s + 1] - q[s]);
    return true;
  }
  return false;
}

}  // namespace

const std::vector<Problem>& problem_table() {
  using enum MaskShape;
  static const std::vector<Problem> table = {
      {"dense", {2, 33, 33, 3, 3, 64, 64}},
      {"cross", {2, 18, 77, 2, 2, 64, 64}},
      {"one query", {1, 1, 50, 2, 2, 128, 128}},
      {"one key", {1, 14, 1, 2, 2, 40, 40}},
      {"one by one", {1, 1, 1, 1, 1, 8, 8}},
      {"head size 1", {1, 9, 9, 4, 4, 1, 1}},
      {"head size 72", {1, 20, 20, 2, 2, 72, 72}},
      {"head size 256", {1, 12, 12, 2, 2, 256, 256}},
      {"head size 512", {1, 9, 11, 1, 1, 512, 512}},
      {"longer than the tiles", {1, 300, 700, 2, 2, 32, 32}},
      {"grouped heads", {2, 15, 26, 8, 2, 32, 32}},
      {"one key head", {1, 11, 11, 6, 1, 64, 64}},
      {"narrow value", {1, 13, 22, 2, 2, 64, 32}},
      {"wide value", {1, 13, 22, 2, 2, 32, 80}},
      {"given scale", {1, 16, 16, 2, 2, 48, 48}, at::kFloat, Causal::None, None, Memory::Dense, 0.3},
      {"negative scale", {1, 16, 16, 2, 2, 48, 48}, at::kFloat, Causal::None, None, Memory::Dense, -0.3},
      {"causal", {1, 37, 37, 2, 2, 64, 64}, at::kFloat, Causal::TopLeft},
      {"causal wide", {1, 10, 33, 2, 2, 32, 32}, at::kFloat, Causal::TopLeft},
      {"causal tall", {1, 33, 10, 2, 2, 32, 32}, at::kFloat, Causal::TopLeft},
      {"causal bottom right wide", {1, 10, 33, 2, 2, 32, 32}, at::kFloat, Causal::BottomRight},
      {"causal bottom right tall", {1, 33, 10, 2, 2, 32, 32}, at::kFloat, Causal::BottomRight},
      {"causal grouped", {2, 19, 19, 4, 2, 80, 80}, at::kFloat, Causal::TopLeft},
      {"causal with lengths", {3, 19, 25, 2, 2, 32, 32}, at::kFloat, Causal::TopLeft, Lengths},
      {"causal bottom right with lengths", {3, 19, 25, 2, 2, 32, 32}, at::kFloat, Causal::BottomRight, Lengths},
      {"causal with a boolean mask", {2, 19, 25, 2, 2, 32, 32}, at::kFloat, Causal::TopLeft, BoolPlane},
      {"causal with an additive mask", {2, 19, 25, 2, 2, 32, 32}, at::kFloat, Causal::BottomRight, AddHeads},
      {"lengths", {3, 12, 20, 2, 2, 32, 32}, at::kFloat, Causal::None, Lengths},
      {"lengths grouped", {3, 12, 70, 4, 2, 32, 32}, at::kFloat, Causal::None, Lengths},
      {"boolean full", {2, 9, 12, 2, 2, 32, 32}, at::kFloat, Causal::None, BoolFull},
      {"boolean padding", {3, 12, 20, 2, 2, 32, 32}, at::kFloat, Causal::None, BoolPadding},
      {"boolean plane", {2, 16, 21, 2, 2, 64, 64}, at::kFloat, Causal::None, BoolPlane},
      {"boolean with dead rows", {2, 13, 17, 2, 2, 32, 32}, at::kFloat, Causal::None, BoolDead},
      {"boolean long", {1, 130, 600, 1, 1, 32, 32}, at::kFloat, Causal::None, BoolPlane},
      {"additive full", {2, 9, 12, 2, 2, 32, 32}, at::kFloat, Causal::None, AddFull},
      {"additive per head", {2, 14, 14, 4, 4, 32, 32}, at::kFloat, Causal::None, AddHeads},
      {"additive with -inf", {1, 18, 30, 2, 2, 64, 64}, at::kFloat, Causal::None, AddInf},
      {"additive with dead rows", {1, 12, 9, 2, 2, 32, 32}, at::kFloat, Causal::None, AddDead},
      {"head major", {2, 12, 12, 3, 3, 64, 64}, at::kFloat, Causal::None, None, Memory::HeadMajor},
      {"packed", {2, 14, 14, 3, 3, 40, 40}, at::kFloat, Causal::None, None, Memory::PackedQkv},
      {"every second row", {1, 11, 11, 2, 2, 32, 32}, at::kFloat, Causal::None, None, Memory::EverySecondRow},
      {"last stride", {1, 9, 9, 4, 4, 24, 24}, at::kFloat, Causal::TopLeft, None, Memory::LastStrided},
      {"head slice", {1, 10, 10, 2, 2, 32, 32}, at::kFloat, Causal::None, BoolPlane, Memory::HeadSlice},
      {"heads broadcast", {1, 10, 15, 4, 4, 32, 32}, at::kFloat, Causal::None, None, Memory::HeadsBroadcast},
      {"batch broadcast", {3, 8, 14, 2, 2, 32, 32}, at::kFloat, Causal::None, None, Memory::BatchBroadcast},
      {"bf16", {1, 40, 40, 2, 2, 128, 128}, at::kBFloat16},
      {"bf16 packed with lengths", {2, 24, 24, 2, 2, 64, 64}, at::kBFloat16, Causal::None, Lengths, Memory::PackedQkv},
      {"bf16 with a boolean mask", {2, 24, 50, 2, 2, 64, 64}, at::kBFloat16, Causal::None, BoolPadding},
      {"bf16 with an additive mask", {2, 24, 50, 2, 2, 64, 64}, at::kBFloat16, Causal::None, AddInf},
      {"fp16", {1, 40, 40, 2, 2, 64, 64}, at::kHalf},
      {"fp16 causal grouped", {1, 29, 29, 4, 1, 80, 80}, at::kHalf, Causal::TopLeft},
      packed({"packed sequences", {1, 100, 100, 2, 2, 32, 32}}, {0, 1, 34, 34, 100}),
      packed({"packed with a tail", {1, 60, 60, 4, 2, 64, 32}}, {0, 17, 40}),
      packed({"packed causal", {1, 80, 80, 2, 2, 32, 32}, at::kFloat, Causal::TopLeft}, {0, 33, 80}),
      packed({"packed cross", {1, 50, 90, 2, 2, 40, 40}}, {0, 20, 30, 50}, {0, 5, 5, 90}),
      packed({"packed cross causal", {1, 50, 90, 2, 2, 40, 40}, at::kFloat, Causal::TopLeft}, {0, 20, 50}, {0, 5, 80}),
      packed({"packed cross bottom right", {1, 50, 90, 2, 2, 40, 40}, at::kFloat, Causal::BottomRight}, {0, 20, 50},
             {0, 5, 80}),
      packed({"packed bf16", {1, 70, 70, 4, 4, 64, 64}, at::kBFloat16, Causal::None, None, Memory::PackedQkv},
             {0, 30, 70}),
      packed({"packed without a token", {1, 8, 8, 1, 1, 16, 16}}, {0, 0}),
  };
  return table;
}

const std::vector<Problem>& masked_packed_table() {
  using enum MaskShape;
  static const std::vector<Problem> table = {
      packed({"packed with a length", {1, 60, 60, 2, 2, 32, 32}, at::kFloat, Causal::None, Lengths}, {0, 20, 58, 60}),
      packed({"packed with a plane", {1, 60, 60, 2, 2, 32, 32}, at::kFloat, Causal::TopLeft, BoolPlane}, {0, 20, 55}),
      packed({"packed with a bias", {1, 40, 60, 2, 2, 32, 32}, at::kFloat, Causal::None, AddHeads}, {0, 20, 40},
             {0, 9, 60}),
  };
  return table;
}

std::unique_ptr<MadeProblem> make_problem(const Problem& p) {
  auto made = std::make_unique<MadeProblem>();
  const Sizes& s = p.sizes;
  AttentionInputs& in = made->inputs;
  in.query = laid_out({s.batch, s.seq_q, s.heads_q, s.head_dim}, p.memory, p.dtype, 3);
  in.key = laid_out({s.batch, s.seq_kv, s.heads_kv, s.head_dim}, p.memory, p.dtype, 4);
  in.value = laid_out({s.batch, s.seq_kv, s.heads_kv, s.value_dim}, p.memory, p.dtype, 5);
  in.causal = p.causal;
  in.scale = p.scale != 0 ? p.scale : 1 / std::sqrt(static_cast<double>(s.head_dim));
  in.mask = make_mask(p, made->lengths);
  if (p.query_bounds.empty()) return made;
  made->query_bounds = p.query_bounds;
  made->key_bounds = p.key_bounds;
  in.packed = Packed{made->query_bounds, made->key_bounds};
  return made;
}

test::ReferenceResult reference_answer(const AttentionInputs& in) {
  const Sizes s = sizes_of(in);
  test::ReferenceProblem p = {s.batch,     s.seq_q,  s.seq_kv,         s.heads_q,      s.heads_kv,       s.head_dim,
                              s.value_dim, in.scale, reader(in.query), reader(in.key), reader(in.value), {}};
  const auto* lengths = std::get_if<KeyLengths>(&in.mask);
  p.bias = [bias = bias_reader(in), lengths, s, &in](int64_t b, int64_t h, int64_t i, int64_t j) {
    int64_t query = i, key = j, shift = s.seq_kv - s.seq_q;
    if (in.packed && !same_sequence(*in.packed, i, j, query, key, shift)) return -kInfinity;
    if (lengths != nullptr && j >= lengths->values[b]) return -kInfinity;
    if (in.causal == Causal::TopLeft && key > query) return -kInfinity;
    if (in.causal == Causal::BottomRight && key > query + shift) return -kInfinity;
    return bias(b, h, i, j);
  };
  return test::reference_attention(p);
}

Deviation deviation(const AttentionOutputs& got, const test::ReferenceResult& want) {
  Deviation result;
  const at::Tensor out = doubles(got.out);
  double total = 0;
  double sum = 0;
  for (int64_t i = 0; i < out.numel(); ++i) {
    const double d = difference(out.const_data_ptr<double>()[i], want.out[static_cast<size_t>(i)]);
    result.out = std::max(result.out, d);
    sum += d;
    if (std::isfinite(want.out[static_cast<size_t>(i)])) total += std::abs(want.out[static_cast<size_t>(i)]);
  }
  result.out_l1 = total > 0 ? sum / total : sum;
  if (!got.lse.defined()) return result;
  const at::Tensor lse = doubles(got.lse);
  for (int64_t i = 0; i < lse.numel(); ++i) {
    result.lse = std::max(result.lse, difference(lse.const_data_ptr<double>()[i], want.lse[static_cast<size_t>(i)]));
  }
  return result;
}

double out_tolerance(at::ScalarType dtype) {
  if (dtype == at::kHalf) return 2e-3;
  if (dtype == at::kBFloat16) return 1.6e-2;
  return 1e-5;
}

double lse_tolerance(at::ScalarType dtype) {
  return dtype == at::kFloat ? 1e-5 : 1e-3;
}

}  // namespace tessera::attention
