// Backends that run on CPUs, and torch SDPA, which runs everywhere.
#include "attention/policy/accept.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

// The kernels' own limit: wider heads no longer fit the second-level cache beside the keys (kernels/dispatch.cpp).
constexpr int64_t kMaxCpuHeadDim = 1024;

Checks& cpu_kernel(Checks& checks, const AttentionProblem& p, const DeviceProfile& d) {
  return checks.cpu(d)
      .refuse_if(p.dtype != DType::F32 && p.dtype != DType::F16 && p.dtype != DType::BF16, Reason::Dtype,
                 strings::join("takes fp32, bf16 and fp16, not ", dtype_name(p.dtype), "; use reference"))
      .refuse_if(p.head_dim > kMaxCpuHeadDim || p.value_dim > kMaxCpuHeadDim, Reason::HeadDim,
                 strings::join("serves heads up to ", kMaxCpuHeadDim, " wide; use torch_sdpa"))
      .refuse_if(p.is_varlen() && p.mask != MaskKind::None, Reason::Varlen,
                 "takes no mask together with packed segments; use torch_sdpa");
}

}  // namespace

Verdict accept_reference(const AttentionProblem&, const DeviceProfile& d) {
  return Checks().cpu(d).verdict();
}

Verdict accept_cpu_flash(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  return cpu_kernel(checks, p, d).verdict();
}

Verdict accept_cpu_sage(const AttentionProblem& p, const DeviceProfile& d) {
  Checks checks;
  return cpu_kernel(checks, p, d)
      .refuse_if(!d.has_isa("avx2") && !d.has_isa("i8mm"), Reason::IsaMissing,
                 "its 8-bit products need AVX2 or newer, on ARM I8MM, which this CPU lacks; use cpu_flash")
      .verdict();
}

Verdict accept_torch_sdpa(const AttentionProblem&, const DeviceProfile&) {
  return Verdict::accept();
}

}  // namespace tessera::attention
