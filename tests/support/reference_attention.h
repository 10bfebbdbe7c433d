// The numeric truth of attention: double precision, naive loops, one row at a time. For the tests and the bench.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace tessera::test {

/// One problem. The functions give single elements, so that any layout, mask or input type can be read.
struct ReferenceProblem {
  int64_t batch = 1, seq_q = 0, seq_kv = 0, heads_q = 1, heads_kv = 1, head_dim = 1, value_dim = 1;
  double scale = 1;
  std::function<double(int64_t b, int64_t s, int64_t h, int64_t d)> q, k, v;
  /// Added to the scaled logit; -inf = may not attend, and then neither K nor V of that key is read. Empty: 0.
  std::function<double(int64_t b, int64_t h, int64_t i, int64_t j)> bias;
};

/// One row's answer.
struct ReferenceRow {
  std::vector<double> out;  ///< [Dv]; zeros when no key is allowed
  double lse = -std::numeric_limits<double>::infinity();
};

/// Row (b, h, i) of softmax(scale * Q K^T + bias) V.
inline ReferenceRow reference_row(const ReferenceProblem& p, int64_t b, int64_t h, int64_t i) {
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  const int64_t head = h / (p.heads_q / p.heads_kv);
  std::vector<double> logits(static_cast<size_t>(p.seq_kv), kMinusInfinity);
  std::vector<bool> allowed(logits.size(), false);
  double max = kMinusInfinity;
  for (int64_t j = 0; j < p.seq_kv; ++j) {
    const double bias = p.bias ? p.bias(b, h, i, j) : 0.0;
    if (bias == kMinusInfinity) continue;
    double dot = 0;
    for (int64_t d = 0; d < p.head_dim; ++d) dot += p.q(b, i, h, d) * p.k(b, j, head, d);
    logits[static_cast<size_t>(j)] = dot * p.scale + bias;
    allowed[static_cast<size_t>(j)] = true;
    max = std::fmax(max, logits[static_cast<size_t>(j)]);
  }
  ReferenceRow row;
  row.out.assign(static_cast<size_t>(p.value_dim), 0.0);
  double sum = 0;
  for (int64_t j = 0; j < p.seq_kv; ++j) {
    if (!allowed[static_cast<size_t>(j)]) continue;
    const double weight = std::exp(logits[static_cast<size_t>(j)] - max);
    sum += weight;
    for (int64_t d = 0; d < p.value_dim; ++d) row.out[static_cast<size_t>(d)] += weight * p.v(b, j, head, d);
  }
  if (sum == 0) return row;
  for (double& x : row.out) x /= sum;
  row.lse = max + std::log(sum);
  return row;
}

/// The whole answer.
struct ReferenceResult {
  std::vector<double> out;  ///< [B, Sq, Hq, Dv]
  std::vector<double> lse;  ///< [B, Hq, Sq]
};

inline ReferenceResult reference_attention(const ReferenceProblem& p) {
  ReferenceResult r;
  r.out.resize(static_cast<size_t>(p.batch * p.seq_q * p.heads_q * p.value_dim));
  r.lse.resize(static_cast<size_t>(p.batch * p.heads_q * p.seq_q));
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads_q; ++h) {
      for (int64_t i = 0; i < p.seq_q; ++i) {
        const ReferenceRow row = reference_row(p, b, h, i);
        r.lse[static_cast<size_t>((b * p.heads_q + h) * p.seq_q + i)] = row.lse;
        const int64_t at = ((b * p.seq_q + i) * p.heads_q + h) * p.value_dim;
        for (int64_t d = 0; d < p.value_dim; ++d) {
          r.out[static_cast<size_t>(at + d)] = row.out[static_cast<size_t>(d)];
        }
      }
    }
  }
  return r;
}

}  // namespace tessera::test
