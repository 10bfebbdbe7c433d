// The two routes to cuDNN, and what surrounds both: masks, lengths, alignment, rows without keys.
#include "attention/backends/cudnn_sdpa.h"

#include <limits>

#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <c10/core/DeviceGuard.h>

#include "attention/backends/cuda_call.h"
#include "attention/backends/masks.h"
#include "attention/segments.h"
#include "base/strings.h"
#include "tensor/dtypes.h"

namespace tessera::attention {
namespace {

/// [B, S, H, D] → cuDNN's order [B, H, S, D].
cudnn::Strides strides_of(const at::Tensor& t) {
  return {t.stride(0), t.stride(2), t.stride(1), t.stride(3)};
}

/// Every mask that is not lengths as an additive one; `dead` marks the rows that see no key, for later.
struct Prepared {
  AttentionInputs in;
  at::Tensor dead;  // [B|1, H|1, Sq] or undefined
};

/// [B|1, H|1, Sq, Skv] in the query's dtype; rows are stored at multiples of 16 bytes, as the kernels read them.
at::Tensor padded_bias(at::Tensor bias, const AttentionInputs& in) {
  while (bias.dim() < 4) bias = bias.unsqueeze(0);
  const int64_t seq_q = in.query.size(1), seq_kv = in.key.size(1);
  bias = bias.to(in.query.scalar_type()).expand({bias.size(0), bias.size(1), seq_q, seq_kv}).contiguous();
  const int64_t spare = (8 - seq_kv % 8) % 8;
  return spare == 0 ? bias : at::constant_pad_nd(bias, {0, spare}).narrow(3, 0, seq_kv);
}

Prepared prepare(const AttentionInputs& inputs) {
  Prepared p{without_equal_lengths(inputs), {}};
  const bool dense = std::holds_alternative<BoolMask>(p.in.mask) || std::holds_alternative<AdditiveMask>(p.in.mask);
  if (!dense) return p;
  const at::Tensor allowed = allowed_keys(p.in);
  if (allowed.defined()) p.dead = allowed.any(-1).logical_not();
  // additive_mask carries causality too, so the graph needs no causal flag beside it.
  p.in.mask = AdditiveMask{padded_bias(additive_mask(p.in, allowed), p.in)};
  p.in.causal = Causal::None;
  return p;
}

void clear_rows(const Prepared& p, const AttentionOutputs& outputs) {
  clear_dead_rows(p.in, outputs);
  if (!p.dead.defined()) return;
  const auto sizes = outputs.out.sizes();
  const at::Tensor full = p.dead.expand({sizes[0], sizes[2], sizes[1]});  // [B, H, Sq]
  outputs.out.masked_fill_(full.transpose(1, 2).unsqueeze(-1), 0.0);
  if (outputs.lse.defined()) outputs.lse.masked_fill_(full, -std::numeric_limits<float>::infinity());
}

/// Buffers that the kernels can write: the caller's, and fresh ones in place of those that begin or step unevenly, as a
/// packed sequence's part of the LSE does.
AttentionOutputs writable(const AttentionOutputs& given) {
  AttentionOutputs w = given;
  if (misaligned_rows("output", given.out)) w.out = at::empty(given.out.sizes(), given.out.options());
  if (!given.lse.defined()) return w;
  const bool fits = given.lse.is_contiguous() && cudnn::aligned(given.lse.const_data_ptr());
  if (!fits) w.lse = at::empty(given.lse.sizes(), given.lse.options());
  return w;
}

void hand_over(const AttentionOutputs& written, const AttentionOutputs& to) {
  if (!written.out.is_same(to.out)) to.out.copy_(written.out);
  if (to.lse.defined() && !written.lse.is_same(to.lse)) to.lse.copy_(written.lse);
}

std::unexpected<Error> not_on(at::Device device) {
  return fail(ErrorCode::Unsupported, strings::join("cuDNN runs on CUDA devices, not ", device.str()),
              "use --attention-backend auto");
}

/// LibTorch's own wrapper: no lengths, its causal triangle starts at the top left.
Status run_through_torch(const AttentionInputs& in, const AttentionOutputs& outputs) {
  if (!in.query.is_cuda()) return not_on(in.query.device());
  if (std::holds_alternative<KeyLengths>(in.mask)) {
    return fail(ErrorCode::Unsupported, "LibTorch's route to cuDNN takes no key lengths", "build with cuDNN's headers");
  }
  if (in.causal == Causal::BottomRight && in.query.size(1) != in.key.size(1)) {
    return fail(ErrorCode::Unsupported, "LibTorch's route to cuDNN has no bottom-right causality");
  }
  const auto* mask = std::get_if<AdditiveMask>(&in.mask);
  const auto bias = mask == nullptr ? std::nullopt : std::optional(mask->bias);
  const auto result = at::_scaled_dot_product_cudnn_attention(in.query.transpose(1, 2), in.key.transpose(1, 2),
                                                              in.value.transpose(1, 2), bias, outputs.lse.defined(),
                                                              0.0, in.causal != Causal::None, false, in.scale);
  outputs.out.copy_(std::get<0>(result).transpose(1, 2));
  // [B, H, Sq, 1] since LibTorch 2.9, [B, H, Sq] before.
  if (outputs.lse.defined()) outputs.lse.copy_(std::get<1>(result).reshape(outputs.lse.sizes()));
  return {};
}

}  // namespace

cudnn::Spec cudnn_spec(const AttentionInputs& in, const AttentionOutputs& outputs) {
  const Sizes sizes = sizes_of(in);
  cudnn::Spec s;
  s.dtype = tensor::dtype_of(in.query.scalar_type());
  s.batch = sizes.batch, s.seq_q = sizes.seq_q, s.seq_kv = sizes.seq_kv;
  s.heads_q = sizes.heads_q, s.heads_kv = sizes.heads_kv;
  s.head_dim = sizes.head_dim, s.value_dim = sizes.value_dim;
  s.q = strides_of(in.query), s.k = strides_of(in.key), s.v = strides_of(in.value), s.o = strides_of(outputs.out);
  s.causal = in.causal;
  s.stats = outputs.lse.defined();
  s.scale = in.scale;
  if (std::holds_alternative<KeyLengths>(in.mask)) s.mask = MaskKind::KeyLengths;
  if (std::holds_alternative<BoolMask>(in.mask)) s.mask = MaskKind::Bool, s.bias_dtype = DType::Bool;
  if (const auto* mask = std::get_if<AdditiveMask>(&in.mask)) {
    s.mask = MaskKind::Additive;
    s.bias_dtype = tensor::dtype_of(mask->bias.scalar_type());
    s.bias_shape = {mask->bias.size(0), mask->bias.size(1)};
    std::copy_n(mask->bias.strides().begin(), 4, s.bias.begin());
  }
  return s;
}

std::optional<std::string> misaligned_memory(const AttentionInputs& in) {
  const auto* mask = std::get_if<AdditiveMask>(&in.mask);
  const std::pair<const char*, at::Tensor> tensors[] = {
      {"query", in.query}, {"key", in.key}, {"value", in.value}, {"mask", mask == nullptr ? at::Tensor() : mask->bias}};
  for (const auto& [name, tensor] : tensors) {
    if (tensor.defined() && !cudnn::aligned(tensor.const_data_ptr())) {
      return strings::join("the memory of the ", name, " does not begin at a multiple of 16 bytes");
    }
  }
  return std::nullopt;
}

Status CudnnSdpaBackend::run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) {
  if (inputs.packed) {
    return run_by_segments(*this, inputs, outputs, tier);
  }
  const Prepared p = prepare(inputs);
  const AttentionOutputs target = writable(outputs);
  // Our guards stand before both routes: LibTorch's wrapper checks neither strides nor pointers.
  constexpr int64_t kNewest = 99999;
  if (auto text = cudnn::refusal(cudnn_spec(p.in, target), kNewest)) return fail(ErrorCode::Unsupported, *text);
  if (auto text = misaligned_memory(p.in)) return fail(ErrorCode::Unsupported, *text);
  Status status = graphs_ == nullptr ? run_through_torch(p.in, target) : graphs_->run(p.in, target);
  const bool absent = graphs_ != nullptr && !status && status.error().code == ErrorCode::Unavailable;
  if (absent) status = run_through_torch(p.in, target);  // built for, but this process has no cuDNN that serves
  if (!status) return status;
  clear_rows(p, target);
  hand_over(target, outputs);
  return {};
}

}  // namespace tessera::attention
