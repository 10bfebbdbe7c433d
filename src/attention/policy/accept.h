// The accepts() functions of the catalog's rows and the checks that they share; only catalog.cpp and its tests look
// here.
#pragma once

#include <initializer_list>
#include <string_view>

#include "attention/policy/problem.h"
#include "attention/policy/verdict.h"
#include "platform/device_profile.h"

namespace tessera::attention {

using platform::Capability;
using platform::DeviceProfile;

/// Runs checks in order and keeps the first refusal: `return Checks().cuda(d).dtype16(p).verdict();`
class Checks {
 public:
  /// Refuses with this reason and text if `bad` and nothing was refused before.
  Checks& refuse_if(bool bad, Reason reason, std::string_view text);

  Checks& cuda(const DeviceProfile& d);
  Checks& cpu(const DeviceProfile& d);
  /// At least this compute capability.
  Checks& at_least(const DeviceProfile& d, Capability oldest, std::string_view remedy);
  /// Exactly one of these.
  Checks& one_of(const DeviceProfile& d, std::initializer_list<Capability> served, std::string_view remedy);
  Checks& installed(const DeviceProfile& d, std::string_view library, std::string_view how);
  /// fp16 or bf16.
  Checks& dtype16(const AttentionProblem& p);
  Checks& head_dim_in(const AttentionProblem& p, std::initializer_list<int64_t> sizes);
  Checks& equal_value_dim(const AttentionProblem& p);
  Checks& equal_heads(const AttentionProblem& p);
  /// Refuses every mask, also key lengths.
  Checks& no_mask(const AttentionProblem& p);
  /// Refuses boolean and additive masks.
  Checks& no_dense_mask(const AttentionProblem& p);
  Checks& not_causal(const AttentionProblem& p);
  /// Causal only from the bottom right corner when Sq != Skv.
  Checks& causal_bottom_right(const AttentionProblem& p);
  Checks& causal_square(const AttentionProblem& p);
  Checks& no_varlen(const AttentionProblem& p);
  Checks& no_lse(const AttentionProblem& p);
  Checks& default_scale(const AttentionProblem& p);
  Checks& unit_last_stride(const AttentionProblem& p);
  Checks& aligned_rows(const AttentionProblem& p);
  Checks& no_cross(const AttentionProblem& p);

  Verdict verdict() const { return verdict_; }

 private:
  Verdict verdict_;
};

Verdict accept_reference(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_cpu_flash(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_cpu_sage(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_torch_sdpa(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_torch_cudnn_sdpa(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_fa2(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_fa3(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_fa4(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_sage_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_sage_attn_3(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_sparge_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_sliding_tile_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_video_sparse_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_video_sparse_attn_h3(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_hybrid_window_attn_h3(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_sparse_video_gen_2_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_vmoba_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_aiter(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_rocm_only(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_ascend_only(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_sla_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_sol_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_subblock_sparse_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_cube_sparse_attn(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_fp8_fa_sm120(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_plugin(const AttentionProblem& p, const DeviceProfile& d);
Verdict accept_no_attention(const AttentionProblem& p, const DeviceProfile& d);

}  // namespace tessera::attention
