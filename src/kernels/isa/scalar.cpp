// The path that runs everywhere: one query row at a time, plain C++; also what other paths are compared with in tests.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/paths.h"
#include "kernels/problem.h"

namespace tessera::kernels::scalar {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
// Rows of one task: enough work to hide the hand-over, few enough to share small problems between threads.
constexpr int64_t kRowsPerTask = 16;
// Keys summed before the partial sum is added to the row's total: keeps the rounding error that of short sums.
constexpr int64_t kBlock = 64;

struct Row {
  const HeadProblem* head;
  int64_t group;
  int64_t query;
};

struct Scratch {
  std::vector<float> logits, q, out, partial;
};

/// Fills logits [keys]; returns how many keys there are. Excluded keys get -inf and their K is not looked at.
int64_t compute_logits(const Row& row, Scratch& s) {
  const HeadProblem& p = *row.head;
  const AttentionArgs& a = *p.args;
  const int64_t keys = p.key_end(row.query);
  s.logits.assign(static_cast<size_t>(keys), kMinusInfinity);
  s.q.resize(static_cast<size_t>(a.head_dim));
  for (int64_t d = 0; d < a.head_dim; ++d) {
    const int64_t at = row.query * a.q.stride_s + row.group * a.q.stride_h + d * a.q.stride_d;
    s.q[static_cast<size_t>(d)] = load_element(p.q, a.dtype, at) * a.scale;
  }
  for (int64_t k = 0; k < keys; ++k) {
    const float bias = p.mask == nullptr ? 0.0F : mask_value(p, row.group, row.query, k);
    if (bias == kMinusInfinity) continue;
    float dot = 0;
    for (int64_t d = 0; d < a.head_dim; ++d) {
      dot += s.q[static_cast<size_t>(d)] * load_element(p.k, a.dtype, k * a.k.stride_s + d * a.k.stride_d);
    }
    s.logits[static_cast<size_t>(k)] = dot + bias;
  }
  return keys;
}

/// Adds weights [begin, end) of the row to `out`; returns their sum.
float add_block(const HeadProblem& p, Scratch& s, float max, int64_t begin, int64_t end) {
  const AttentionArgs& a = *p.args;
  float sum = 0;
  s.partial.assign(static_cast<size_t>(a.value_dim), 0.0F);
  for (int64_t k = begin; k < end; ++k) {
    const float logit = s.logits[static_cast<size_t>(k)];
    if (logit == kMinusInfinity) continue;
    const float weight = std::exp(logit - max);
    sum += weight;
    for (int64_t d = 0; d < a.value_dim; ++d) {
      s.partial[static_cast<size_t>(d)] += weight * load_element(p.v, a.dtype, k * a.v.stride_s + d * a.v.stride_d);
    }
  }
  for (int64_t d = 0; d < a.value_dim; ++d) s.out[static_cast<size_t>(d)] += s.partial[static_cast<size_t>(d)];
  return sum;
}

float max_of(const std::vector<float>& logits, int64_t keys) {
  float max = kMinusInfinity;
  for (int64_t k = 0; k < keys; ++k) {
    const float x = logits[static_cast<size_t>(k)];
    if (x > max) max = x;
  }
  return max;
}

void compute_row(const Row& row, Scratch& s) {
  const HeadProblem& p = *row.head;
  const AttentionArgs& a = *p.args;
  const int64_t keys = compute_logits(row, s);
  const float max = max_of(s.logits, keys);
  s.out.assign(static_cast<size_t>(a.value_dim), 0.0F);
  float sum = 0;
  for (int64_t k = 0; k < keys; k += kBlock) sum += add_block(p, s, max, k, k + kBlock < keys ? k + kBlock : keys);
  const int64_t out_at = row.query * a.out.stride_s + row.group * a.out.stride_h;
  for (int64_t d = 0; d < a.value_dim; ++d) {
    store_element(p.out, a.dtype, out_at + d, sum == 0 ? 0.0F : s.out[static_cast<size_t>(d)] / sum);
  }
  if (p.lse == nullptr) return;
  p.lse[row.group * p.lse_stride_h + row.query] = sum == 0 ? kMinusInfinity : max + std::log(sum);
}

struct Call {
  const AttentionArgs* args;
  int64_t tasks_per_head;
};

void run_task(void* data, int64_t index) {
  const Call& call = *static_cast<const Call*>(data);
  const AttentionArgs& a = *call.args;
  const int64_t head_q = index / call.tasks_per_head % a.heads_q;
  const int64_t b = index / call.tasks_per_head / a.heads_q;
  const int64_t groups = a.heads_q / a.heads_kv;
  const HeadProblem head = head_problem(a, b, head_q / groups);
  const int64_t begin = index % call.tasks_per_head * kRowsPerTask;
  Scratch scratch;
  for (int64_t i = begin; i < begin + kRowsPerTask && i < head.seq_q; ++i) {
    compute_row({&head, head_q % groups, i}, scratch);
  }
}

}  // namespace

AttentionRun run(const AttentionArgs& args, const ParallelFor& parallel) {
  Call call{&args, (longest_query(args) + kRowsPerTask - 1) / kRowsPerTask};
  parallel(args.batch * args.heads_q * call.tasks_per_head, run_task, &call);
  return {Status::Ok, Isa::Scalar, 0};
}

}  // namespace tessera::kernels::scalar
