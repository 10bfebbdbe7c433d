// The naive algorithm: all logits of a row, their maximum, then one weighted sum.
#include "attention/backends/reference.h"

#include <limits>

namespace tessera::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

at::Tensor host_doubles(const at::Tensor& tensor) {
  return tensor.to(at::kCPU, at::kDouble).contiguous();
}

at::Tensor one_head(const at::Tensor& tensor, int64_t batch, int64_t head) {
  return tensor.select(0, batch).select(1, head);  // [S, D]
}

}  // namespace

ReferenceHead::ReferenceHead(const AttentionInputs& inputs, int64_t batch, int64_t head) : inputs_(inputs) {
  const Sizes s = sizes_of(inputs);
  const int64_t head_kv = head / (s.heads_q / s.heads_kv);
  query_ = one_head(inputs.query, batch, head);
  key_ = host_doubles(one_head(inputs.key, batch, head_kv));
  value_ = host_doubles(one_head(inputs.value, batch, head_kv));
  seq_q_ = s.seq_q;
  seq_kv_ = s.seq_kv;
  key_length_ = s.seq_kv;
  if (const auto* lengths = std::get_if<KeyLengths>(&inputs.mask)) key_length_ = lengths->values[batch];
  if (const auto* mask = std::get_if<BoolMask>(&inputs.mask)) mask_ = mask->allowed.select(0, batch).select(0, head);
  if (const auto* mask = std::get_if<AdditiveMask>(&inputs.mask)) mask_ = mask->bias.select(0, batch).select(0, head);
  logits_.resize(s.seq_kv);
}

void ReferenceHead::find_sequence(int64_t index) {
  queries_ = seq_q_;
  keys_ = seq_kv_;
  if (!inputs_.packed) return;
  const auto& [query_bounds, key_bounds] = *inputs_.packed;
  queries_ = keys_ = 0;
  for (size_t i = 0; i + 1 < query_bounds.size(); ++i) {
    if (index < query_bounds[i] || index >= query_bounds[i + 1]) continue;
    first_query_ = query_bounds[i];
    queries_ = query_bounds[i + 1] - query_bounds[i];
    first_key_ = key_bounds[i];
    keys_ = key_bounds[i + 1] - key_bounds[i];
  }
}

void ReferenceHead::load_row(int64_t index) {
  find_sequence(index);
  query_row_ = host_doubles(query_.select(0, index));
  if (mask_.defined()) mask_row_ = host_doubles(mask_.select(0, index));
}

bool ReferenceHead::is_allowed(int64_t index, int64_t key) const {
  if (key >= key_length_ || key < first_key_ || key >= first_key_ + keys_) return false;
  const int64_t after = (key - first_key_) - (index - first_query_);
  if (inputs_.causal == Causal::TopLeft && after > 0) return false;
  if (inputs_.causal == Causal::BottomRight && after > keys_ - queries_) return false;
  if (!mask_.defined()) return true;
  const double mask = mask_row_.const_data_ptr<double>()[key];
  return std::holds_alternative<BoolMask>(inputs_.mask) ? mask != 0 : mask != -kInfinity;
}

double ReferenceHead::logit(int64_t key) const {
  const int64_t dim = key_.size(1);
  const double* q = query_row_.const_data_ptr<double>();
  const double* k = key_.const_data_ptr<double>() + key * dim;
  double dot = 0;
  for (int64_t d = 0; d < dim; ++d) dot += q[d] * k[d];
  const bool additive = std::holds_alternative<AdditiveMask>(inputs_.mask);
  return dot * inputs_.scale + (additive ? mask_row_.const_data_ptr<double>()[key] : 0.0);
}

double ReferenceHead::row(int64_t index, std::span<double> out) {
  load_row(index);
  std::fill(out.begin(), out.end(), 0.0);
  double top = -kInfinity;
  bool has_nan = false;
  for (int64_t key = 0; key < seq_kv_; ++key) {
    logits_[key] = -kInfinity;
    if (!is_allowed(index, key)) continue;
    logits_[key] = logit(key);
    has_nan = has_nan || std::isnan(logits_[key]) || logits_[key] == kInfinity;
    top = std::max(top, logits_[key]);
    if (std::isfinite(logits_[key])) max_logit_ = std::max(max_logit_, std::abs(logits_[key]));
  }
  if (has_nan) {
    std::fill(out.begin(), out.end(), kNan);
    return kNan;
  }
  if (top == -kInfinity) return -kInfinity;
  double sum = 0;
  for (int64_t key = 0; key < seq_kv_; ++key) {
    if (!is_allowed(index, key)) continue;  // also of an infinite value: 0 * inf would be NaN
    const double weight = std::exp(logits_[key] - top);
    const double* v = value_.const_data_ptr<double>() + key * value_.size(1);
    sum += weight;
    for (int64_t d = 0; d < value_.size(1); ++d) {
      out[d] += weight * v[d];
      if (std::isfinite(v[d])) max_value_ = std::max(max_value_, std::abs(v[d]));
    }
  }
  for (double& x : out) x /= sum;
  return top + std::log(sum);
}

Status ReferenceBackend::run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality) {
  const Sizes s = sizes_of(inputs);
  const auto host = at::TensorOptions().dtype(at::kDouble).device(at::kCPU);
  const at::Tensor out = at::empty({s.batch, s.heads_q, s.seq_q, s.value_dim}, host);
  const at::Tensor lse = at::empty({s.batch, s.heads_q, s.seq_q}, host);
  double* out_data = out.data_ptr<double>();
  double* lse_data = lse.data_ptr<double>();
  at::parallel_for(0, s.batch * s.heads_q, 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      ReferenceHead head(inputs, item / s.heads_q, item % s.heads_q);
      for (int64_t i = 0; i < s.seq_q; ++i) {
        const int64_t row = item * s.seq_q + i;
        lse_data[row] = head.row(i, {out_data + row * s.value_dim, static_cast<size_t>(s.value_dim)});
      }
    }
  });
  outputs.out.copy_(out.transpose(1, 2));
  if (outputs.lse.defined()) outputs.lse.copy_(lse);
  return {};
}

}  // namespace tessera::attention
