// Checks a call and hands it to the path of its instruction set.
#include <algorithm>
#include <new>

#include "kernels/attention.h"
#include "kernels/compact.h"
#include "kernels/paths.h"

namespace tessera::kernels {
namespace {

// Above this the packed queries of one strip no longer fit the second-level cache beside the keys.
constexpr int64_t kMaxHeadDim = 1024;

bool is_input(DType dtype) {
  return dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16;
}

Status check_shape(const AttentionArgs& a) {
  if (a.batch < 0 || a.seq_q < 0 || a.seq_kv < 0 || a.heads_q < 0 || a.value_dim < 0) return Status::BadShape;
  if (a.heads_kv < 1 || a.head_dim < 1 || a.heads_q % a.heads_kv != 0) return Status::BadShape;
  if (a.head_dim > kMaxHeadDim || a.value_dim > kMaxHeadDim) return Status::HeadTooLarge;
  return Status::Ok;
}

Status check_lengths(const AttentionArgs& a) {
  if ((a.cu_seqlens_q == nullptr) != (a.cu_seqlens_k == nullptr)) return Status::BadLengths;
  if (a.cu_seqlens_q != nullptr && a.mask.kind != MaskKind::None) return Status::BadMask;
  for (int64_t b = 0; b < a.batch; ++b) {
    if (a.key_lengths != nullptr && a.key_lengths[b] < 0) return Status::BadLengths;
    if (a.cu_seqlens_q == nullptr) continue;
    if (a.cu_seqlens_q[b + 1] < a.cu_seqlens_q[b] || a.cu_seqlens_k[b + 1] < a.cu_seqlens_k[b])
      return Status::BadLengths;
  }
  return Status::Ok;
}

bool runs_here(Isa isa) {
  static const std::vector<Isa> isas = available_isas();
  return std::ranges::find(isas, isa) != isas.end();
}

Isa resolved_isa(const AttentionArgs& a) {
  if (a.isa != Isa::Auto) return runs_here(a.isa) ? a.isa : Isa::Auto;
  static const Isa active = active_isa().value_or(Isa::Auto);
  return active;
}

}  // namespace

Status supports(const AttentionArgs& a) {
  if (!is_input(a.dtype)) return Status::BadDtype;
  if (a.mask.kind == MaskKind::Additive && !is_input(a.mask.dtype)) return Status::BadMask;
  if (const Status s = check_shape(a); s != Status::Ok) return s;
  if (const Status s = check_lengths(a); s != Status::Ok) return s;
  return resolved_isa(a) == Isa::Auto ? Status::IsaMissing : Status::Ok;
}

AttentionRun attention_forward(const AttentionArgs& args, const ParallelFor& parallel) {
  if (const Status s = supports(args); s != Status::Ok) return {s, Isa::Auto, 0};
  const Path path = std::ranges::find(compiled_paths(), resolved_isa(args), &PathRow::isa)->run;
  if (args.q.stride_d == 1 && args.k.stride_d == 1 && args.v.stride_d == 1) return path(args, parallel);
  const CompactInputs compact(args, parallel);
  if (compact.out_of_memory) return {Status::OutOfMemory};
  AttentionRun run = path(compact.args, parallel);
  run.inputs_copied = compact.copied;
  return run;
}

std::string_view tier_name(Tier tier) {
  switch (tier) {
    case Tier::Exact:
      return "exact";
    case Tier::High:
      return "high";
    case Tier::Fast:
      return "fast";
  }
  return "unknown";
}

std::string_view status_text(Status status) {
  switch (status) {
    case Status::Ok:
      return "ok";
    case Status::BadShape:
      return "a size is negative, or the key heads do not divide the query heads";
    case Status::BadDtype:
      return "inputs must be fp32, bf16 or fp16";
    case Status::BadStride:
      return "a stride does not fit";
    case Status::BadMask:
      return "an additive mask must be fp32, bf16 or fp16, and packed sequences take no mask";
    case Status::BadLengths:
      return "key lengths and cumulative lengths must be given whole and not fall below zero";
    case Status::HeadTooLarge:
      return "a head size above 1024";
    case Status::IsaMissing:
      return "this machine lacks the asked instruction set";
    case Status::OutOfMemory:
      return "no memory for the packed keys";
  }
  return "unknown";
}

}  // namespace tessera::kernels
