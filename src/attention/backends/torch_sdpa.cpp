// ATen's fused attention behind our contract. The quirks named here were found with LibTorch 2.13 on a CPU.
#include "attention/backends/torch_sdpa.h"

#include <limits>

#include "attention/backends/chunked_math.h"
#include "attention/backends/cuda_call.h"
#include "attention/backends/masks.h"
#include "attention/segments.h"

namespace tessera::attention {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// True when no element is NaN or infinite. The sum decides nearly always, in one pass and without memory.
bool is_finite(const at::Tensor& tensor) {
  if (std::isfinite(tensor.sum(at::kFloat).item<float>())) return true;
  return at::isfinite(tensor).all().item<bool>();
}

bool holds_only_finite(const AttentionInputs& in) {
  return is_finite(in.query) && is_finite(in.key) && is_finite(in.value);
}

/// [B, S, H, D] → [B, H, S, D]; the kernel reads garbage when the last stride is not 1, and on GPUs it may be one that
/// reads 16 bytes at a time.
at::Tensor heads_first(const at::Tensor& tensor) {
  const at::Tensor view = tensor.stride(3) == 1 ? tensor : tensor.contiguous();
  return aligned_or_copied(view).transpose(1, 2);
}

/// Query, key and value as the kernel takes them: one head size for all. Zeros added to query and key change no logit,
/// those added to the value are cut off the output.
struct KernelInputs {
  at::Tensor query, key, value;
};

at::Tensor pad_head(const at::Tensor& tensor, int64_t dim) {
  if (tensor.size(3) == dim) return heads_first(tensor);
  return at::constant_pad_nd(tensor, {0, dim - tensor.size(3)}, 0).transpose(1, 2);
}

KernelInputs kernel_inputs(const AttentionInputs& in) {
  const int64_t dim = std::max(in.query.size(3), in.value.size(3));
  return {pad_head(in.query, dim), pad_head(in.key, dim), pad_head(in.value, dim)};
}

/// The triangle that the kernel knows by itself starts at the top left corner.
bool is_plain_causal(const AttentionInputs& in) {
  if (in.causal == Causal::None || !std::holds_alternative<std::monostate>(in.mask)) return false;
  return in.causal == Causal::TopLeft || in.query.size(1) == in.key.size(1);
}

/// Sets the rows that see no key to 0 and -inf; kernels answer NaN, an average, or LSE 0 for them.
void clear_dead_rows(const at::Tensor& allowed, const AttentionOutputs& outputs) {
  if (!allowed.defined()) return;
  const at::Tensor dead = allowed.any(-1).logical_not();  // [B|1, H|1, Sq|1] or [Sq]
  // Reading the answer would make the host wait for a device, and is forbidden in a CUDA graph capture.
  if (dead.is_cpu() && !dead.any().item<bool>()) return;
  const auto sizes = outputs.out.sizes();
  const at::Tensor full = dead.expand({sizes[0], sizes[2], sizes[1]});
  outputs.out.masked_fill_(full.transpose(1, 2).unsqueeze(-1), 0.0);
  if (outputs.lse.defined()) outputs.lse.masked_fill_(full, -kInfinity);
}

void run_cpu(const AttentionInputs& in, const AttentionOutputs& outputs) {
  if (!holds_only_finite(in)) return chunked_math(in, outputs);
  const KernelInputs kernel = kernel_inputs(in);
  const bool causal = is_plain_causal(in);
  const at::Tensor allowed = causal ? at::Tensor() : allowed_keys(in);
  const at::Tensor mask = additive_mask(in, allowed);
  const auto [out, lse] =
      at::_scaled_dot_product_flash_attention_for_cpu(kernel.query, kernel.key, kernel.value, 0.0, causal,
                                                      mask.defined() ? std::optional(mask) : std::nullopt, in.scale);
  outputs.out.copy_(out.narrow(3, 0, in.value.size(3)).transpose(1, 2));
  if (outputs.lse.defined()) outputs.lse.copy_(lse);
  clear_dead_rows(allowed, outputs);
}

/// On other devices ATen chooses among its kernels; the composite function returns no LSE, so that one is ours.
void run_device(const AttentionInputs& in, const AttentionOutputs& outputs) {
  const KernelInputs kernel = kernel_inputs(in);
  const bool causal = is_plain_causal(in);
  const at::Tensor allowed = causal ? at::Tensor() : allowed_keys(in);
  at::Tensor mask = additive_mask(in, allowed);
  if (mask.defined()) mask = mask.to(in.query.scalar_type());
  const at::Tensor out = at::scaled_dot_product_attention(kernel.query, kernel.key, kernel.value,
                                                          mask.defined() ? std::optional(mask) : std::nullopt, 0.0,
                                                          causal, in.scale, in.query.size(2) != in.key.size(2));
  outputs.out.copy_(out.narrow(3, 0, in.value.size(3)).transpose(1, 2));
  if (outputs.lse.defined()) chunked_math(in, {.out = {}, .lse = outputs.lse});
  clear_dead_rows(allowed, outputs);
}

void run_unpadded(const AttentionInputs& in, const AttentionOutputs& outputs) {
  if (is_empty(sizes_of(in))) return fill_empty(outputs);
  in.query.is_cpu() ? run_cpu(in, outputs) : run_device(in, outputs);
}

/// The same problem over the first `length` keys of the batch rows [begin, begin + count), without copies.
void run_rows(const AttentionInputs& in, const AttentionOutputs& outputs, int64_t begin, int64_t count,
              int64_t length) {
  AttentionInputs part = in;
  part.mask = std::monostate{};
  part.query = in.query.narrow(0, begin, count);
  part.key = in.key.narrow(0, begin, count).narrow(1, 0, length);
  part.value = in.value.narrow(0, begin, count).narrow(1, 0, length);
  AttentionOutputs target = {outputs.out.narrow(0, begin, count), {}};
  if (outputs.lse.defined()) target.lse = outputs.lse.narrow(0, begin, count);
  run_unpadded(part, target);
}

}  // namespace

Status TorchSdpaBackend::run(const AttentionInputs& in, const AttentionOutputs& outputs, Quality tier) {
  if (in.packed) return run_by_segments(*this, in, outputs, tier);
  const auto* lengths = std::get_if<KeyLengths>(&in.mask);
  if (lengths == nullptr) {
    run_unpadded(in, outputs);
    return {};
  }
  if (in.causal == Causal::BottomRight) {  // its corner is that of all Skv keys, so they cannot be cut off
    if (is_capturing(in.query)) return not_in_capture("a mask made of key lengths");
    AttentionInputs masked = in;
    masked.mask = BoolMask{length_mask(*lengths, sizes_of(in), in.query.device())};
    run_unpadded(masked, outputs);
    return {};
  }
  // Neighbouring batch rows of one length go together.
  const auto& values = lengths->values;
  for (size_t begin = 0, end = 0; begin < values.size(); begin = end) {
    while (end < values.size() && values[end] == values[begin]) ++end;
    run_rows(in, outputs, static_cast<int64_t>(begin), static_cast<int64_t>(end - begin), values[begin]);
  }
  return {};
}

}  // namespace tessera::attention
