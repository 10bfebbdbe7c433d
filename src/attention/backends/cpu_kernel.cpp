// From tensors to the kernels' plain arguments.
#include "attention/backends/cpu_kernel.h"

#include <atomic>

#include "attention/segments.h"
#include "base/strings.h"
#include "tensor/dtypes.h"

namespace tessera::attention {
namespace {

// At most one strand a thread; strands fetch tasks one by one, because causal tasks differ in length.
void run_tasks(void*, int64_t tasks, kernels::ParallelFor::Task task, void* data) {
  std::atomic<int64_t> next = 0;
  const int64_t strands = std::min<int64_t>(tasks, at::get_num_threads());
  at::parallel_for(0, strands, 1, [&](int64_t begin, int64_t end) {
    for (int64_t strand = begin; strand < end; ++strand) {
      for (int64_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) task(data, i);
    }
  });
}

kernels::TensorView view_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.stride(0), tensor.stride(1), tensor.stride(2), tensor.stride(3)};
}

kernels::MaskView mask_view(kernels::MaskKind kind, const at::Tensor& mask) {
  return {kind,
          tensor::dtype_of(mask.scalar_type()),
          mask.const_data_ptr(),
          mask.stride(0),
          mask.stride(1),
          mask.stride(2),
          mask.stride(3)};
}

kernels::Causal kernel_causal(Causal causal) {
  switch (causal) {
    case Causal::None:
      return kernels::Causal::None;
    case Causal::TopLeft:
      return kernels::Causal::TopLeft;
    case Causal::BottomRight:
      return kernels::Causal::BottomRight;
  }
  return kernels::Causal::None;
}

kernels::Tier kernel_tier(Quality tier) {
  switch (tier) {
    case Quality::Exact:
      return kernels::Tier::Exact;
    case Quality::High:
      return kernels::Tier::High;
    case Quality::Fast:
      return kernels::Tier::Fast;
  }
  return kernels::Tier::Exact;
}

void set_sizes(kernels::AttentionArgs& args, const Sizes& s) {
  args.batch = s.batch;
  args.seq_q = s.seq_q;
  args.seq_kv = s.seq_kv;
  args.heads_q = s.heads_q;
  args.heads_kv = s.heads_kv;
  args.head_dim = s.head_dim;
  args.value_dim = s.value_dim;
}

void set_mask(kernels::AttentionArgs& args, const Mask& mask) {
  if (const auto* m = std::get_if<KeyLengths>(&mask)) args.key_lengths = m->values.data();
  if (const auto* m = std::get_if<BoolMask>(&mask)) args.mask = mask_view(kernels::MaskKind::Bool, m->allowed);
  if (const auto* m = std::get_if<AdditiveMask>(&mask)) args.mask = mask_view(kernels::MaskKind::Additive, m->bias);
}

kernels::AttentionArgs kernel_args(const AttentionInputs& in, const AttentionOutputs& outputs) {
  kernels::AttentionArgs args;
  args.dtype = tensor::dtype_of(in.query.scalar_type());
  set_sizes(args, sizes_of(in));
  args.q = view_of(in.query);
  args.k = view_of(in.key);
  args.v = view_of(in.value);
  args.out = {outputs.out.data_ptr(), outputs.out.stride(0), outputs.out.stride(1), outputs.out.stride(2)};
  if (outputs.lse.defined()) {
    args.lse = outputs.lse.data_ptr<float>();
    args.lse_stride_b = outputs.lse.stride(0);
    args.lse_stride_h = outputs.lse.stride(1);
  }
  args.scale = static_cast<float>(in.scale);
  args.causal = kernel_causal(in.causal);
  set_mask(args, in.mask);
  if (in.packed) {
    args.batch = static_cast<int64_t>(in.packed->query_bounds.size()) - 1;
    args.cu_seqlens_q = in.packed->query_bounds.data();
    args.cu_seqlens_k = in.packed->key_bounds.data();
  }
  return args;
}

ErrorCode code_of(kernels::Status status) {
  return status == kernels::Status::OutOfMemory ? ErrorCode::OutOfMemory : ErrorCode::Unsupported;
}

}  // namespace

kernels::ParallelFor aten_threads() {
  return {run_tasks, nullptr, at::get_num_threads()};
}

/// The kernels write the LSE of packed sequences as [Hq, their queries] without a gap.
Status CpuKernelBackend::run_packed(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                    Quality tier) const {
  if (!std::holds_alternative<std::monostate>(inputs.mask)) {
    return fail(ErrorCode::Unsupported, name_ + ": takes no mask together with packed sequences");
  }
  const int64_t used = inputs.packed->query_bounds.back();
  AttentionOutputs target = outputs;
  if (outputs.lse.defined()) target.lse = at::empty({1, outputs.lse.size(1), used}, outputs.lse.options());
  TESSERA_TRY_OK(run_kernel(inputs, target, tier));
  if (outputs.lse.defined()) outputs.lse.narrow(2, 0, used).copy_(target.lse);
  clear_after_segments(*inputs.packed, outputs);
  return {};
}

Status CpuKernelBackend::run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) {
  if (!inputs.query.is_cpu()) return fail(ErrorCode::Unsupported, name_ + ": the tensors are not on the CPU");
  return inputs.packed ? run_packed(inputs, outputs, tier) : run_kernel(inputs, outputs, tier);
}

Status CpuKernelBackend::run_kernel(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                    Quality tier) const {
  kernels::AttentionArgs args = kernel_args(inputs, outputs);
  args.tier = kernel_tier(tier);
  args.isa = isa_;
  const kernels::AttentionRun done = kernels::attention_forward(args, aten_threads());
  if (done.status == kernels::Status::Ok) return {};
  return fail(code_of(done.status), strings::join(name_, ": ", kernels::status_text(done.status)),
              "choose another --attention-backend");
}

}  // namespace tessera::attention
