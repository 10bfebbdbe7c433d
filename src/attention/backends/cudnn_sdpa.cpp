// The two routes to cuDNN, and what surrounds both: masks, lengths, alignment, rows without keys.
#include "attention/backends/cudnn_sdpa.h"

#include <limits>

#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <c10/core/DeviceGuard.h>

#include "attention/backends/cuda_call.h"
#include "attention/backends/masks.h"
#include "base/strings.h"
#include "tensor/dtypes.h"
#ifdef TESSERA_WITH_CUDNN_GRAPH
#include "attention/cudnn/graph.h"
#include "attention/cudnn/plan_cache.h"
#endif

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

/// LibTorch's own wrapper: no lengths, its causal triangle starts at the top left.
Status run_through_torch(const AttentionInputs& in, const AttentionOutputs& outputs) {
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

std::optional<std::string> misaligned_memory(const AttentionInputs& in, const AttentionOutputs& outputs) {
  const std::pair<const char*, at::Tensor> tensors[] = {
      {"query", in.query}, {"key", in.key}, {"value", in.value}, {"output", outputs.out}};
  for (const auto& [name, tensor] : tensors) {
    if (!cudnn::aligned(tensor.const_data_ptr())) {
      return strings::join("the memory of the ", name, " does not begin at a multiple of 16 bytes");
    }
  }
  return std::nullopt;
}

#ifdef TESSERA_WITH_CUDNN_GRAPH

struct CudnnSdpaBackend::Plans {
  cudnn::PlanCache<cudnn::Graph> cache;
  std::mutex mutex;
  // Lengths already on a device: a captured CUDA graph must not copy from host memory.
  std::map<std::pair<std::vector<int64_t>, int>, at::Tensor> lengths;

  at::Tensor lengths_on(const std::vector<int64_t>& values, at::Device device);
  Status run(const AttentionInputs& in, const AttentionOutputs& outputs);
};

namespace {

/// One handle per thread and device, as cuDNN asks for.
Result<cudnn::Handle> thread_handle(const cudnn::Library& library, int device) {
  thread_local std::map<int, cudnn::Handle> handles;
  if (const auto it = handles.find(device); it != handles.end()) return it->second;
  TESSERA_TRY(cudnn::Handle handle, cudnn::Handle::create(library));
  return handles.emplace(device, std::move(handle)).first->second;
}

Result<cudnn::Graph> build_plan(const cudnn::Spec& spec, const cudnn::Handle& handle) {
  TESSERA_TRY(cudnn::Graph graph, cudnn::Graph::for_handle(spec, handle));
  TESSERA_TRY_OK(graph.build(0));
  return graph;
}

}  // namespace

at::Tensor CudnnSdpaBackend::Plans::lengths_on(const std::vector<int64_t>& values, at::Device device) {
  const std::lock_guard lock(mutex);
  const std::pair key(values, static_cast<int>(device.index()));
  if (const auto it = lengths.find(key); it != lengths.end()) return it->second;
  at::Tensor made = device_lengths({values}, device);
  // Kept ones are never dropped, a captured graph may read them; beyond this many they are made anew each time.
  constexpr size_t kMost = 1024;
  if (lengths.size() < kMost) lengths.emplace(key, made);
  return made;
}

Status CudnnSdpaBackend::Plans::run(const AttentionInputs& in, const AttentionOutputs& outputs) {
  TESSERA_TRY(const cudnn::Library library, cudnn::load_library());
  const c10::DeviceGuard guard(in.query.device());
  const int device = in.query.device().index();
  const cudnn::Spec spec = cudnn_spec(in, outputs);
  TESSERA_TRY(const cudnn::Handle handle, thread_handle(library, device));
  TESSERA_TRY(const auto graph,
              cache.find_or_build({spec, library.version, device}, [&] { return build_plan(spec, handle); }));
  cudnn::Pointers p{
      .q = in.query.data_ptr(), .k = in.key.data_ptr(), .v = in.value.data_ptr(), .o = outputs.out.data_ptr()};
  at::Tensor k_lengths, q_lengths;
  if (outputs.lse.defined()) p.stats = outputs.lse.data_ptr();
  if (const auto* mask = std::get_if<AdditiveMask>(&in.mask)) p.bias = mask->bias.data_ptr();
  if (const auto* keys = std::get_if<KeyLengths>(&in.mask)) {
    const std::vector<int64_t> queries(keys->values.size(), spec.seq_q);
    k_lengths = lengths_on({keys->values.begin(), keys->values.end()}, in.query.device());
    q_lengths = lengths_on(queries, in.query.device());
    p.k_lengths = k_lengths.data_ptr(), p.q_lengths = q_lengths.data_ptr();
  }
  TESSERA_TRY(const int64_t bytes, graph->workspace_bytes());
  const at::Tensor workspace = workspace_like(in.query, bytes);
  TESSERA_TRY_OK(handle.set_stream(current_stream(in.query)));
  return graph->execute(handle, p, workspace.data_ptr());
}

CudnnSdpaBackend::CudnnSdpaBackend() : plans_(std::make_unique<Plans>()) {}

#else

struct CudnnSdpaBackend::Plans {
  Status run(const AttentionInputs&, const AttentionOutputs&) {
    return fail(ErrorCode::Unavailable, "this build has no cuDNN graphs");
  }
};

CudnnSdpaBackend::CudnnSdpaBackend() : plans_(std::make_unique<Plans>()) {}

#endif

CudnnSdpaBackend::~CudnnSdpaBackend() = default;

Status CudnnSdpaBackend::run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality) {
  if (!inputs.query.is_cuda()) {
    return fail(ErrorCode::Unsupported, strings::join("cuDNN runs on CUDA devices, not ", inputs.query.device().str()));
  }
  const Prepared p = prepare(inputs);
  // Our guards stand before both routes: LibTorch's wrapper checks neither strides nor pointers.
  constexpr int64_t kNewest = 99999;
  if (auto text = cudnn::refusal(cudnn_spec(p.in, outputs), kNewest)) return fail(ErrorCode::Unsupported, *text);
  if (auto text = misaligned_memory(p.in, outputs)) return fail(ErrorCode::Unsupported, *text);
  Status status = plans_->run(p.in, outputs);
  if (!status && status.error().code == ErrorCode::Unavailable) status = run_through_torch(p.in, outputs);
  if (status) clear_rows(p, outputs);
  return status;
}

}  // namespace tessera::attention
