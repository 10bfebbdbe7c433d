// The fused kernels against their CPU twins, bit for bit.
#include "apps/gpu_check/session.h"
#include "base/strings.h"

namespace tessera::gpu_check {
namespace {

using namespace kernels::fused;

Element element_of(at::ScalarType dtype) {
  if (dtype == at::kFloat) return Element::F32;
  return dtype == at::kHalf ? Element::F16 : Element::BF16;
}

at::Tensor numbers(at::IntArrayRef sizes, at::ScalarType dtype) {
  return at::randn(sizes, at::TensorOptions().dtype(at::kFloat)).to(dtype);
}

Status same_bits(const at::Tensor& got, const at::Tensor& want) {
  const at::ScalarType bits = got.element_size() == 4 ? at::kInt : at::kShort;
  const int64_t differing = got.cpu().view(bits).ne(want.view(bits)).sum().item<int64_t>();
  return expect(differing == 0, strings::join(differing, " of ", want.numel(), " values differ from the CPU twin's"));
}

Status good(int status) {
  return status == 0 ? Status() : fail(ErrorCode::DeviceFault, strings::join("CUDA status ", status));
}

using Operands = std::vector<at::Tensor>;

/// Runs a kernel on the device with copies of the operands, the first shaped like the result.
Status same_on_device(Session& session, const at::Tensor& want, const Operands& operands,
                      const std::function<int(const Operands& on, const at::Tensor& out)>& kernel) {
  Operands on;
  for (const at::Tensor& operand : operands) on.push_back(operand.to(session.tools->device()));
  const at::Tensor out = at::empty_like(on[0]);
  TESSERA_TRY_OK(good(kernel(on, out)));
  session.tools->synchronize();
  return same_bits(out, want);
}

Status check_rope(Session& session, at::ScalarType dtype, int64_t dim) {
  const at::Tensor x = numbers({2, 37, 5, dim}, dtype), weight = numbers({dim}, dtype);
  const at::Tensor angles = numbers({37, dim / 2}, at::kFloat).mul(30);
  const at::Tensor rotation = at::stack({angles.cos(), angles.sin()}, 2).contiguous();  // [S, D/2, 2]
  const auto arguments = [&](const at::Tensor& in, const at::Tensor& out, const at::Tensor& w, const at::Tensor& r) {
    QkNormRope a{.in = in.const_data_ptr(),
                 .out = out.data_ptr(),
                 .weight = w.const_data_ptr(),
                 .rotation = r.const_data_ptr<float>()};
    a.batch = 2, a.seq = 37, a.heads = 5, a.dim = dim, a.eps = 1e-6F, a.element = element_of(dtype);
    for (int64_t d = 0; d < 3; ++d) a.in_strides[d] = in.stride(d), a.out_strides[d] = out.stride(d);
    return a;
  };
  const at::Tensor want = at::empty_like(x);
  qk_norm_rope_cpu(arguments(x, want, weight, rotation));
  return same_on_device(session, want, {x, weight, rotation}, [&](const Operands& on, const at::Tensor& out) {
    return session.tools->qk_norm_rope(arguments(on[0], out, on[1], on[2]));
  });
}

Status check_modulate(Session& session, at::ScalarType dtype, int64_t dim) {
  const at::Tensor x = numbers({2, 37, dim}, dtype), scale = numbers({2, dim}, dtype), shift = numbers({2, dim}, dtype);
  const auto arguments = [&](const at::Tensor& in, const at::Tensor& out, const at::Tensor& k, const at::Tensor& d) {
    Modulate a{
        .in = in.const_data_ptr(), .out = out.data_ptr(), .scale = k.const_data_ptr(), .shift = d.const_data_ptr()};
    a.batch = 2, a.seq = 37, a.dim = dim, a.eps = 1e-6F, a.element = element_of(dtype);
    return a;
  };
  const at::Tensor want = at::empty_like(x);
  modulate_cpu(arguments(x, want, scale, shift));
  return same_on_device(session, want, {x, scale, shift}, [&](const Operands& on, const at::Tensor& out) {
    return session.tools->modulate(arguments(on[0], out, on[1], on[2]));
  });
}

}  // namespace

void check_fused(Session& session) {
  const auto check = [&](std::string_view kernel, at::ScalarType dtype, int64_t dim, auto compare) {
    const std::string subject = strings::join(c10::toString(dtype), " D", dim);
    if (session.dry()) return session.add("fused", kernel, subject, Outcome::Skipped, "needs a GPU");
    session.check("fused", kernel, subject, [&](OrderedJson&) { return compare(session, dtype, dim); });
  };
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    for (const int64_t dim : {64, 128, 250}) check("qk_norm_rope", dtype, dim, check_rope);
    for (const int64_t dim : {320, 3072, 5120}) check("modulate", dtype, dim, check_modulate);
  }
}

}  // namespace tessera::gpu_check
