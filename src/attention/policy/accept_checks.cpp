// The checks that rows of the catalog share, one refusal each.
#include <algorithm>

#include "attention/policy/accept.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

std::string sm_text(Capability c) {
  return strings::join(c.major, ".", c.minor);
}

std::string sm_list(std::initializer_list<Capability> list) {
  std::vector<std::string> out;
  for (const Capability c : list) out.push_back(sm_text(c));
  return strings::list(out);
}

std::string unequal_sides(const AttentionProblem& p) {
  if (p.is_varlen()) return "some packed sequences have other numbers of keys than of queries";
  return strings::join("Sq ", p.seq_q, " != Skv ", p.seq_kv);
}

}  // namespace

Checks& Checks::refuse_if(bool bad, Reason reason, std::string_view text) {
  if (bad && verdict_.accepted()) verdict_ = Verdict::refuse(reason, std::string(text));
  return *this;
}

Checks& Checks::cuda(const DeviceProfile& d) {
  return refuse_if(!d.is_cuda(), Reason::NeedsCuda, "runs on NVIDIA GPUs only; use cpu_flash on a CPU");
}

Checks& Checks::cpu(const DeviceProfile& d) {
  return refuse_if(!d.is_cpu(), Reason::NeedsCpu, "runs on CPUs only; use torch_sdpa or fa on a GPU");
}

Checks& Checks::at_least(const DeviceProfile& d, Capability oldest, std::string_view remedy) {
  return refuse_if(d.sm < oldest, Reason::CapabilityTooOld,
                   strings::join("needs compute capability ", sm_text(oldest), " or newer, this device has ",
                                 sm_text(d.sm), "; ", remedy));
}

Checks& Checks::one_of(const DeviceProfile& d, std::initializer_list<Capability> served, std::string_view remedy) {
  return refuse_if(std::ranges::find(served, d.sm) == served.end(), Reason::CapabilityUnserved,
                   strings::join("has kernels for compute capability ", sm_list(served), ", this device has ",
                                 sm_text(d.sm), "; ", remedy));
}

Checks& Checks::installed(const DeviceProfile& d, std::string_view library, std::string_view how) {
  return refuse_if(!d.has(library), Reason::NotInstalled, strings::join(library, " is not installed; ", how));
}

Checks& Checks::dtype16(const AttentionProblem& p) {
  return refuse_if(p.dtype != DType::F16 && p.dtype != DType::BF16, Reason::Dtype,
                   strings::join("takes fp16 and bf16, not ", dtype_name(p.dtype), "; use --dtype bf16 or torch_sdpa"));
}

Checks& Checks::head_dim_in(const AttentionProblem& p, std::initializer_list<int64_t> sizes) {
  std::vector<std::string> names;
  for (const int64_t size : sizes) names.push_back(std::to_string(size));
  return refuse_if(std::ranges::find(sizes, p.head_dim) == sizes.end(), Reason::HeadDim,
                   strings::join("serves head sizes ", strings::list(names), ", not ", p.head_dim, "; use torch_sdpa"));
}

Checks& Checks::equal_value_dim(const AttentionProblem& p) {
  return refuse_if(
      p.value_dim != p.head_dim, Reason::ValueDim,
      strings::join("needs values as wide as keys, got D ", p.head_dim, " and Dv ", p.value_dim, "; use torch_sdpa"));
}

Checks& Checks::equal_heads(const AttentionProblem& p) {
  return refuse_if(p.is_gqa(), Reason::Heads,
                   strings::join("needs as many key heads as query heads, got ", p.heads_q, " and ", p.heads_kv,
                                 "; repeat the key heads or use another backend"));
}

Checks& Checks::no_mask(const AttentionProblem& p) {
  return refuse_if(p.mask != MaskKind::None, Reason::Mask,
                   strings::join("would ignore the ", mask_name(p.mask), " mask; use torch_sdpa"));
}

Checks& Checks::no_dense_mask(const AttentionProblem& p) {
  return refuse_if(p.mask == MaskKind::Bool || p.mask == MaskKind::Additive, Reason::Mask,
                   strings::join("takes key lengths but no ", mask_name(p.mask), " mask; use torch_sdpa"));
}

Checks& Checks::not_causal(const AttentionProblem& p) {
  return refuse_if(p.is_causal(), Reason::Causal, "has no causal form; use fa or torch_sdpa");
}

Checks& Checks::causal_bottom_right(const AttentionProblem& p) {
  return refuse_if(
      p.causal == Causal::TopLeft && !p.is_square(), Reason::Causal,
      strings::join("aligns causal attention to the bottom right corner, and ", unequal_sides(p), "; use torch_sdpa"));
}

Checks& Checks::causal_square(const AttentionProblem& p) {
  return refuse_if(p.is_causal() && !p.is_square(), Reason::Causal,
                   strings::join("is causal only where Sq equals Skv, but ", unequal_sides(p), "; use torch_sdpa"));
}

Checks& Checks::no_varlen(const AttentionProblem& p) {
  return refuse_if(p.is_varlen(), Reason::Varlen, "has no packed form; use fa, or torch_sdpa segment by segment");
}

Checks& Checks::no_lse(const AttentionProblem& p) {
  return refuse_if(p.needs_lse, Reason::Lse, "returns no log-sum-exp; use fa or torch_sdpa");
}

Checks& Checks::default_scale(const AttentionProblem& p) {
  return refuse_if(p.scale.has_value(), Reason::Scale,
                   "always scales by 1/sqrt(D) and would ignore another scale; use sage_attn or torch_sdpa");
}

Checks& Checks::unit_last_stride(const AttentionProblem& p) {
  return refuse_if(p.layout == Layout::LastStrided, Reason::Layout,
                   "reads rows whose elements lie side by side; make the tensor contiguous over D");
}

Checks& Checks::aligned_rows(const AttentionProblem& p) {
  return refuse_if(!p.aligned, Reason::Alignment,
                   "reads 16 bytes at a time, and a row of the query, key or value begins between two multiples of 16 "
                   "bytes; copy it to memory of its own, or use torch_sdpa");
}

Checks& Checks::no_cross(const AttentionProblem& p) {
  return refuse_if(p.role == Role::Cross, Reason::CrossAttention,
                   "a sparse pattern has no meaning between two different sequences; use a dense backend for "
                   "cross-attention");
}

}  // namespace tessera::attention
