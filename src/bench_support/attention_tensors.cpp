#include "bench_support/attention_tensors.h"

namespace tessera::bench_support {
namespace {

// Multiply-adds of the double-precision reference for one result: a few tenths of a second.
constexpr double kReferenceWork = 2e8;

struct Row {
  int64_t b, h, i;
};

/// softmax(scale * q K^T) V of one row, in double, from the inputs as float32 [B, S, H, D].
std::vector<double> reference_row(const AttentionTensors& t, const Row& row, const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v) {
  const AttentionShape& s = t.shape;
  const int64_t head = row.h / (s.heads_q / s.heads_kv);
  const int64_t keys = s.causal ? std::min(s.key_length, row.i + 1) : s.key_length;
  const float* query = q.const_data_ptr<float>() + ((row.b * s.seq_q + row.i) * s.heads_q + row.h) * s.head_dim;
  const int64_t step = s.heads_kv * s.head_dim;
  const int64_t first = (row.b * s.seq_kv * s.heads_kv + head) * s.head_dim;
  std::vector<double> logits(static_cast<size_t>(keys));
  for (int64_t j = 0; j < keys; ++j) {
    const float* key = k.const_data_ptr<float>() + first + j * step;
    double dot = 0;
    for (int64_t d = 0; d < s.head_dim; ++d) dot += static_cast<double>(query[d]) * key[d];
    logits[static_cast<size_t>(j)] = dot * t.scale;
  }
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> out(static_cast<size_t>(s.head_dim), 0.0);
  double sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const double weight = std::exp(logits[static_cast<size_t>(j)] - top);
    const float* value = v.const_data_ptr<float>() + first + j * step;
    sum += weight;
    for (int64_t d = 0; d < s.head_dim; ++d) out[static_cast<size_t>(d)] += weight * value[d];
  }
  for (double& x : out) x /= sum;
  return out;
}

}  // namespace

AttentionTensors make_tensors(const AttentionShape& shape, at::ScalarType dtype) {
  AttentionTensors t;
  t.shape = shape;
  t.scale = 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
  const auto make = [&](int64_t seq, int64_t heads) {
    return at::randn({shape.batch, seq, heads, shape.head_dim}, at::TensorOptions().dtype(at::kFloat)).to(dtype);
  };
  t.q = make(shape.seq_q, shape.heads_q);
  t.k = make(shape.seq_kv, shape.heads_kv);
  t.v = make(shape.seq_kv, shape.heads_kv);
  t.torch_q = t.q.transpose(1, 2).contiguous();
  t.torch_k = t.k.transpose(1, 2).contiguous();
  t.torch_v = t.v.transpose(1, 2).contiguous();
  if (shape.key_length < shape.seq_kv) {
    t.torch_mask = at::arange(shape.seq_kv).lt(shape.key_length).reshape({1, 1, 1, shape.seq_kv});
  }
  return t;
}

int64_t tensors_bytes(const AttentionShape& s, at::ScalarType dtype) {
  const int64_t inputs = s.batch * s.head_dim * (s.seq_q * s.heads_q + 2 * s.seq_kv * s.heads_kv);
  const int64_t outputs = 2 * s.batch * s.head_dim * s.seq_q * s.heads_q;
  const auto size = static_cast<int64_t>(c10::elementSize(dtype));
  return (2 * inputs + outputs) * size + 4 * (inputs + outputs);  // the reference reads float32 copies
}

double max_abs_error(const AttentionTensors& t, const at::Tensor& out) {
  const AttentionShape& s = t.shape;
  const at::Tensor q = t.q.to(at::kFloat), k = t.k.to(at::kFloat), v = t.v.to(at::kFloat);
  const at::Tensor got = out.to(at::kFloat).contiguous();
  const int64_t rows = s.batch * s.heads_q * s.seq_q;
  const auto affordable = static_cast<int64_t>(kReferenceWork / static_cast<double>(2 * s.key_length * s.head_dim));
  // A step that shares no factor with the sizes meets every batch row, head and part of the sequence.
  const int64_t step = std::max<int64_t>(1, rows / std::max<int64_t>(1, affordable)) | 1;
  double worst = 0;
  for (int64_t n = 0; n < rows; n += step) {
    const Row row{n / s.seq_q / s.heads_q, n / s.seq_q % s.heads_q, n % s.seq_q};
    const std::vector<double> want = reference_row(t, row, q, k, v);
    const float* at = got.const_data_ptr<float>() + ((row.b * s.seq_q + row.i) * s.heads_q + row.h) * s.head_dim;
    for (int64_t d = 0; d < s.head_dim; ++d) {
      const double error = std::abs(static_cast<double>(at[d]) - want[static_cast<size_t>(d)]);
      if (!(error <= worst)) worst = error;  // NaN counts
    }
  }
  return worst;
}

}  // namespace tessera::bench_support
