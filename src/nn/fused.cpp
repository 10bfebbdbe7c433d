#include "nn/fused.h"

#include <c10/core/DeviceGuard.h>

#include "attention/backends/cuda_call.h"
#include "base/check.h"
#include "base/strings.h"

namespace tessera::nn {
namespace {

using kernels::fused::Element;

constexpr FusedKernels kCuda = {kernels::fused::modulate_cuda, kernels::fused::qk_norm_rope_cuda};

std::optional<Element> element_of(at::ScalarType type) {
  if (type == at::kFloat) return Element::F32;
  if (type == at::kHalf) return Element::F16;
  return type == at::kBFloat16 ? std::optional(Element::BF16) : std::nullopt;
}

void* stream_of(const at::Tensor& x) {
  return x.is_cpu() ? nullptr : attention::current_stream(x);
}

void check_launch(std::string_view kernel, int status) {
  if (status == 0) return;
  throw RuntimeFault({ErrorCode::DeviceFault, strings::join("the fused kernel ", kernel, " failed: CUDA ", status),
                      "restart the program"});
}

}  // namespace

const FusedKernels* fused_kernels(at::Device device) {
  return device.is_cuda() && kernels::fused::has_cuda_kernels() ? &kCuda : nullptr;
}

std::optional<at::Tensor> fused_modulate(const FusedKernels& kernels, const at::Tensor& x, const at::Tensor& scale,
                                         const at::Tensor& shift, double eps) {
  const auto element = element_of(x.scalar_type());
  const bool fits = x.dim() == 3 && x.is_contiguous() && x.size(2) % 2 == 0 && scale.dim() == 2 && shift.dim() == 2;
  if (!element || !fits || scale.scalar_type() != x.scalar_type() || shift.scalar_type() != x.scalar_type()) return {};
  const c10::DeviceGuard guard(x.device());
  const at::Tensor factor = scale.contiguous(), offset = shift.contiguous();  // parts of one product, a few rows
  at::Tensor out = at::empty_like(x);
  const kernels::fused::Modulate args{.in = x.const_data_ptr(),
                                      .out = out.mutable_data_ptr(),
                                      .scale = factor.const_data_ptr(),
                                      .shift = offset.const_data_ptr(),
                                      .batch = x.size(0),
                                      .seq = x.size(1),
                                      .dim = x.size(2),
                                      .eps = static_cast<float>(eps),
                                      .element = *element};
  check_launch("modulate", kernels.modulate(args, stream_of(x)));
  return out;
}

std::optional<at::Tensor> fused_norm_rotary(const FusedKernels& kernels, const at::Tensor& x, const at::Tensor& weight,
                                            const at::Tensor& rotation, double eps) {
  const auto element = element_of(x.scalar_type());
  const bool fits = x.dim() == 4 && x.stride(3) == 1 && x.size(3) % 2 == 0 && weight.scalar_type() == x.scalar_type();
  if (!element || !fits || rotation.dim() != 2) return {};
  TESSERA_CHECK(rotation.size(0) == x.size(1) && 2 * rotation.size(1) == x.size(3), "a rotation for other tokens");
  const c10::DeviceGuard guard(x.device());
  const at::Tensor turns = at::view_as_real(rotation.contiguous()), factor = weight.contiguous();
  at::Tensor out = at::empty(x.sizes(), x.options());
  kernels::fused::QkNormRope args{.in = x.const_data_ptr(),
                                  .out = out.mutable_data_ptr(),
                                  .weight = factor.const_data_ptr(),
                                  .rotation = turns.const_data_ptr<float>(),
                                  .batch = x.size(0),
                                  .seq = x.size(1),
                                  .heads = x.size(2),
                                  .dim = x.size(3),
                                  .eps = static_cast<float>(eps),
                                  .element = *element};
  for (int64_t d = 0; d < 3; ++d) args.in_strides[d] = x.stride(d), args.out_strides[d] = out.stride(d);
  check_launch("qk_norm_rope", kernels.qk_norm_rope(args, stream_of(x)));
  return out;
}

}  // namespace tessera::nn
