#include "attention/policy/problem.h"

#include "base/strings.h"

namespace tessera::attention {
namespace {

std::string defect_of_lengths(const AttentionProblem& p) {
  if (p.mask != MaskKind::KeyLengths) {
    return p.key_lengths.empty() ? "" : "key_lengths are given but the mask is not key_lengths";
  }
  if (p.key_lengths.empty()) return "";  // the values are not known yet (a plan before the tensors exist)
  if (static_cast<int64_t>(p.key_lengths.size()) != p.batch) return "key_lengths needs one entry per batch row";
  for (const int64_t n : p.key_lengths) {
    if (n < 0 || n > p.seq_kv) return strings::join("key length ", n, " is outside 0..", p.seq_kv);
  }
  return "";
}

std::string defect_of_list(const std::vector<int64_t>& bounds, int64_t tokens) {
  if (bounds.size() < 2 || bounds.front() != 0) return "varlen bounds start at 0 and need two entries";
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    if (bounds[i] < bounds[i - 1]) return "varlen bounds must not fall";
  }
  return bounds.back() > tokens ? "varlen bounds end beyond the tokens" : "";
}

std::string defect_of_bounds(const AttentionProblem& p) {
  if (!p.is_varlen()) return p.varlen_bounds_kv.empty() ? "" : "varlen_bounds_kv needs varlen_bounds";
  if (p.batch != 1) return "varlen bounds need batch 1";
  const auto& keys = p.varlen_bounds_kv.empty() ? p.varlen_bounds : p.varlen_bounds_kv;
  if (keys.size() != p.varlen_bounds.size()) return "queries and keys have different numbers of segments";
  const std::string of_queries = defect_of_list(p.varlen_bounds, p.seq_q);
  return of_queries.empty() ? defect_of_list(keys, p.seq_kv) : of_queries;
}

}  // namespace

SequenceFacts sequence_facts(std::span<const int64_t> query_bounds, std::span<const int64_t> key_bounds) {
  SequenceFacts facts;
  for (std::size_t i = 1; i < query_bounds.size(); ++i) {
    const int64_t queries = query_bounds[i] - query_bounds[i - 1], keys = key_bounds[i] - key_bounds[i - 1];
    facts.square = facts.square && queries == keys;
    if (queries == 0) continue;
    facts.single_key = facts.single_key || keys == 1;
    facts.more_queries = facts.more_queries || queries > keys;
  }
  return facts;
}

SequenceFacts AttentionProblem::sequences() const {
  if (is_varlen()) return sequence_facts(varlen_bounds, varlen_bounds_kv.empty() ? varlen_bounds : varlen_bounds_kv);
  return {seq_q == seq_kv, seq_kv == 1, seq_q > seq_kv};
}

AttentionProblem dense_problem(const DenseShape& shape, DType dtype) {
  AttentionProblem p;
  p.batch = shape.batch;
  p.seq_q = shape.seq_q;
  p.seq_kv = shape.seq_kv;
  p.heads_q = p.heads_kv = shape.heads;
  p.head_dim = p.value_dim = shape.head_dim;
  p.dtype = dtype;
  return p;
}

std::string problem_defect(const AttentionProblem& p) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"batch", p.batch},       {"seq_q", p.seq_q},       {"seq_kv", p.seq_kv},      {"heads_q", p.heads_q},
      {"heads_kv", p.heads_kv}, {"head_dim", p.head_dim}, {"value_dim", p.value_dim}};
  for (const auto& [name, value] : sizes) {
    if (value <= 0) return strings::join(name, " must be positive, got ", value);
  }
  if (p.heads_q % p.heads_kv != 0) {
    return strings::join("heads_q ", p.heads_q, " is not a multiple of heads_kv ", p.heads_kv);
  }
  const std::string lengths = defect_of_lengths(p);
  return lengths.empty() ? defect_of_bounds(p) : lengths;
}

std::string describe(const AttentionProblem& p) {
  std::string out = strings::join("B", p.batch, " Sq", p.seq_q, " Skv", p.seq_kv, " H", p.heads_q);
  if (p.is_gqa()) out += strings::join("/", p.heads_kv);
  out += strings::join(" D", p.head_dim);
  if (p.value_dim != p.head_dim) out += strings::join("/", p.value_dim);
  out += strings::join(" ", dtype_name(p.dtype));
  if (p.is_causal()) out += strings::join(" causal(", causal_name(p.causal), ")");
  if (p.mask != MaskKind::None) out += strings::join(" mask(", mask_name(p.mask), ")");
  if (p.is_varlen()) out += strings::join(" varlen(", p.varlen_bounds.size() - 1, " segments)");
  if (p.needs_lse) out += " lse";
  if (p.layout == Layout::Strided || p.layout == Layout::LastStrided) out += strings::join(" ", layout_name(p.layout));
  if (!p.aligned) out += " misaligned";
  if (p.scale) out += strings::join(" scale ", *p.scale);
  return out + strings::join(" ", role_name(p.role));
}

std::string_view causal_name(Causal causal) {
  switch (causal) {
    case Causal::None:
      return "none";
    case Causal::TopLeft:
      return "top_left";
    case Causal::BottomRight:
      return "bottom_right";
  }
  return "none";
}

std::string_view mask_name(MaskKind mask) {
  switch (mask) {
    case MaskKind::None:
      return "none";
    case MaskKind::KeyLengths:
      return "key_lengths";
    case MaskKind::Bool:
      return "bool";
    case MaskKind::Additive:
      return "additive";
  }
  return "none";
}

std::string_view role_name(Role role) {
  return role == Role::Self ? "self" : "cross";
}

std::string_view layout_name(Layout layout) {
  switch (layout) {
    case Layout::TokenMajor:
      return "token_major";
    case Layout::HeadMajor:
      return "head_major";
    case Layout::Strided:
      return "strided";
    case Layout::LastStrided:
      return "last_strided";
  }
  return "token_major";
}

}  // namespace tessera::attention
