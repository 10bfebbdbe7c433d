// Sparse, video and foreign-platform rows. They are decided as SGLang-Diffusion 0.5.23 decides them (device and package
// only, plus what their kernels cannot take); no build of ours contains them, so on the machine in use they are
// NotBuilt.
#include "attention/policy/accept.h"

namespace tessera::attention {
namespace {

constexpr std::string_view kUseDense = "use fa or torch_sdpa";
constexpr std::string_view kInstall = "install its package, or use fa or torch_sdpa";

/// What no sparse kernel takes.
Checks& sparse_problem(Checks& checks, const AttentionProblem& p) {
  return checks.no_cross(p).no_mask(p).not_causal(p).no_lse(p);
}

Verdict packaged(const AttentionProblem& p, const DeviceProfile& d, std::string_view library) {
  Checks checks;
  checks.cuda(d).installed(d, library, kInstall);
  return sparse_problem(checks, p).no_varlen(p).verdict();
}

/// Windowed and cubic patterns call FlashAttention for their parts: FA4 on 10.x and newer, FA3 before.
Checks& on_flash(Checks& checks, const DeviceProfile& d) {
  const bool newer = d.sm >= Capability{10, 0};
  return checks
      .refuse_if(newer && !d.has("flash4"), Reason::NeedsFlash,
                 "is built on FlashAttention 4, which is not installed; use torch_sdpa")
      .refuse_if(!newer && !d.has("flash3"), Reason::NotInstalled,
                 "is built on FlashAttention 3, which is not installed; use torch_sdpa");
}

}  // namespace

Verdict accept_sparge_attn(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  checks.cuda(d).one_of(d, {{8, 0}, {8, 6}, {8, 7}, {8, 9}, {9, 0}}, kUseDense).installed(d, "sparge", kInstall);
  return sparse_problem(checks, p).no_varlen(p).verdict();
}

Verdict accept_sliding_tile_attn(const AttentionProblem& p, const DeviceProfile& d) {
  return packaged(p, d, "st_attn");
}

Verdict accept_video_sparse_attn(const AttentionProblem& p, const DeviceProfile& d) {
  return packaged(p, d, "vsa");
}

Verdict accept_video_sparse_attn_h3(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  checks.cuda(d).one_of(d, {{8, 0}, {9, 0}, {10, 0}, {10, 3}}, kUseDense).installed(d, "triton", kInstall);
  return sparse_problem(checks, p).verdict();
}

Verdict accept_hybrid_window_attn_h3(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  checks.cuda(d).one_of(d, {{8, 0}, {8, 6}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}}, kUseDense);
  return sparse_problem(on_flash(checks, d), p).verdict();
}

Verdict accept_sparse_video_gen_2_attn(const AttentionProblem& p, const DeviceProfile& d) {
  return packaged(p, d, "svg");
}

Verdict accept_vmoba_attn(const AttentionProblem& p, const DeviceProfile& d) {
  return packaged(p, d, "vmoba");
}

Verdict accept_aiter(const AttentionProblem& p, const DeviceProfile& d) {
  return Checks().cuda(d).installed(d, "aiter", kInstall).no_mask(p).verdict();
}

Verdict accept_rocm_only(const AttentionProblem&, const DeviceProfile&) {
  return Verdict::refuse(Reason::NeedsOtherPlatform, "exists for AMD GPUs (ROCm) only; use fa or torch_sdpa");
}

Verdict accept_ascend_only(const AttentionProblem&, const DeviceProfile&) {
  return Verdict::refuse(Reason::NeedsOtherPlatform, "exists for Ascend NPUs only; use fa or torch_sdpa");
}

Verdict accept_sla_attn(const AttentionProblem& p, const DeviceProfile& d) {
  return packaged(p, d, "triton");
}

Verdict accept_sol_attn(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  checks.cuda(d)
      .installed(d, "sol_attn", kInstall)
      .refuse_if(!d.has("flash3") && !d.has("flash4"), Reason::NotInstalled,
                 "runs its dense layers on FlashAttention, which is not installed; use torch_sdpa");
  return sparse_problem(checks, p).no_varlen(p).verdict();
}

Verdict accept_subblock_sparse_attn(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  checks.cuda(d).one_of(d, {{9, 0}, {10, 0}, {12, 0}}, kUseDense).installed(d, "fa4_cute", kInstall);
  return sparse_problem(checks, p).no_varlen(p).verdict();
}

Verdict accept_cube_sparse_attn(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  checks.cuda(d);
  return sparse_problem(on_flash(checks, d), p).no_varlen(p).verdict();
}

Verdict accept_fp8_fa_sm120(const AttentionProblem& p, const DeviceProfile& d) {
  return Checks()
      .cuda(d)
      .one_of(d, {{12, 0}}, "use torch_cudnn_sdpa")
      .installed(d, "cutlass", kInstall)
      .installed(d, "triton", kInstall)
      .refuse_if(p.dtype != DType::BF16, Reason::Dtype, "takes bf16 only; use torch_cudnn_sdpa")
      .head_dim_in(p, {128})
      .refuse_if(p.batch != 1, Reason::Batch, "takes one batch row at a time; use torch_cudnn_sdpa")
      .equal_heads(p)
      .equal_value_dim(p)
      .not_causal(p)
      .no_mask(p)
      .no_lse(p)
      .verdict();
}

Verdict accept_no_attention(const AttentionProblem&, const DeviceProfile&) {
  return Verdict::refuse(Reason::NoKernel, "is a placeholder that computes nothing; name a backend");
}

}  // namespace tessera::attention
