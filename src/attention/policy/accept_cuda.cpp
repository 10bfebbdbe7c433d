// Dense CUDA backends: cuDNN, the FlashAttention generations, SageAttention.
#include "attention/policy/accept.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

/// Head sizes that cuDNN's forward kernels are tuned for: 256 on Hopper, the 192/128 pair on Blackwell, else 128.
/// Source: PyTorch's own gate (aten sdp_utils, cuDNN >= 9.11) and the ceilings in the cuDNN release notes.
int64_t cudnn_head_limit(const AttentionProblem& p, const DeviceProfile& d) {
  if (d.is_hopper()) return 256;
  return d.is_blackwell() && p.head_dim == 192 && p.value_dim == 128 ? 192 : 128;
}

Checks& flash_device(Checks& checks, const DeviceProfile& d) {
  return checks.cuda(d)
      .refuse_if(d.is_sm12x(), Reason::CapabilityUnserved,
                 strings::join("FlashAttention has no kernel for compute capability ", d.sm.major, ".", d.sm.minor,
                               "; use torch_sdpa, torch_cudnn_sdpa or sage_attn"))
      .at_least(d, {8, 0}, "use torch_sdpa");
}

Checks& flash_problem(Checks& checks, const AttentionProblem& p, const DeviceProfile& d) {
  checks.dtype16(p);
  // On 10.x the CuTe kernels are compiled for the size at hand: every multiple of 8 up to 128.
  const bool compiled = d.is_blackwell() && p.head_dim <= 128 && p.head_dim % 8 == 0;
  if (!compiled) checks.head_dim_in(p, {32, 64, 96, 128, 160, 192, 224, 256});
  return checks.equal_value_dim(p)
      .no_dense_mask(p)
      .causal_bottom_right(p)
      .unit_last_stride(p)
      .refuse_if(p.is_causal() && p.mask == MaskKind::KeyLengths, Reason::Causal,
                 "begins a causal triangle at each row's last key, not at the last of all keys; use torch_sdpa")
      .aligned_rows(p);
}

constexpr std::string_view kInstallFlash = "install flash-attn for this GPU, or use torch_sdpa";

}  // namespace

Verdict accept_torch_cudnn_sdpa(const AttentionProblem& p, const DeviceProfile& d) {
  const int64_t limit = cudnn_head_limit(p, d);
  const SequenceFacts sequences = p.sequences();
  return Checks()
      .cuda(d)
      .at_least(d, {8, 0}, "use torch_sdpa")
      .installed(d, "cudnn", "install cuDNN 9 (pip install nvidia-cudnn-cu13)")
      .dtype16(p)
      .refuse_if(p.head_dim % 8 != 0 || p.head_dim > limit, Reason::HeadDim,
                 strings::join("cuDNN serves multiples of 8 up to ", limit, " on this device, not ", p.head_dim,
                               "; use torch_sdpa"))
      .refuse_if(p.value_dim % 8 != 0 || p.value_dim > limit, Reason::ValueDim,
                 strings::join("cuDNN serves values of a multiple of 8 up to ", limit, " on this device, not ",
                               p.value_dim, "; use torch_sdpa"))
      .refuse_if(p.causal == Causal::BottomRight && p.mask == MaskKind::KeyLengths, Reason::Causal,
                 "begins a bottom-right triangle at each row's last key, not at the last of all keys; use torch_sdpa")
      .refuse_if(p.causal == Causal::BottomRight && p.mask == MaskKind::None && sequences.more_queries, Reason::Causal,
                 "has no bottom-right triangle with more queries than keys; use torch_sdpa")
      .refuse_if(sequences.single_key, Reason::SequenceLength, "cuDNN has no kernel for a single key; use torch_sdpa")
      .unit_last_stride(p)
      .aligned_rows(p)
      .verdict();
}

Verdict accept_fa2(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  flash_device(checks, d).installed(d, "flash2", kInstallFlash);
  return flash_problem(checks, p, d).verdict();
}

Verdict accept_fa3(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  flash_device(checks, d)
      .refuse_if(d.sm >= Capability{10, 0}, Reason::CapabilityUnserved,
                 "FlashAttention 3 serves 8.x and 9.0; use fa4 on newer devices")
      .installed(d, "flash3", kInstallFlash);
  return flash_problem(checks, p, d).verdict();
}

Verdict accept_fa4(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  flash_device(checks, d)
      .refuse_if(d.sm < Capability{10, 0}, Reason::CapabilityUnserved,
                 "FlashAttention 4 serves 10.x and 11.x; use fa3 on older devices")
      .installed(d, "flash4", kInstallFlash);
  return flash_problem(checks, p, d).verdict();
}

Verdict accept_sage_attn(const AttentionProblem& p, const DeviceProfile& d) {
  // The TensorRT-LLM build of the kernels stands alone: neither the package nor its binding is looked at.
  const bool other_build = d.has("sage_trtllm");
  Checks checks;
  checks.cuda(d);
  if (!other_build) {
    checks.installed(d, "sage", "build sageattention 2.2 from its repository, or use fa")
        .refuse_if(d.is_hopper() && !d.has("sage_sm90_fix"), Reason::BindingBroken,
                   "its binding for compute capability 9.0 may return without running the kernel "
                   "(github.com/thu-ml/SageAttention/issues/320); rebuild from commit d970424 or later, or use fa");
  }
  return checks.at_least(d, {8, 0}, "use torch_sdpa")
      .refuse_if(p.head_dim > 128, Reason::HeadDim,
                 strings::join("serves head sizes up to 128, not ", p.head_dim, "; use fa"))
      .dtype16(p)
      .equal_value_dim(p)
      .no_mask(p)
      .causal_square(p)
      .unit_last_stride(p)
      .refuse_if(other_build && p.is_gqa(), Reason::Heads, "the TensorRT-LLM build needs equal head counts; use fa")
      .refuse_if(other_build && p.needs_lse, Reason::Lse, "the TensorRT-LLM build returns no log-sum-exp; use fa")
      .verdict();
}

Verdict accept_sage_attn_3(const AttentionProblem& p, const DeviceProfile& d) {
  return Checks()
      .cuda(d)
      .installed(d, "sage3", "build sageattention3_blackwell from its repository, or use torch_sdpa")
      .refuse_if(d.sm < Capability{10, 0}, Reason::CapabilityUnserved,
                 "its 4-bit products need Blackwell (10.x or 12.x); use sage_attn")
      .dtype16(p)
      .head_dim_in(p, {64, 128, 256})
      .equal_value_dim(p)
      .equal_heads(p)
      .no_mask(p)
      .causal_square(p)
      .no_varlen(p)
      .no_lse(p)
      .default_scale(p)
      .unit_last_stride(p)
      .verdict();
}

}  // namespace tessera::attention
