// cuDNN attention by our own graphs: plans by exact spec, handles by thread, work on LibTorch's current stream.
#include "attention/backends/cudnn_sdpa.h"

#include <map>

#include <c10/core/DeviceGuard.h>

#include "attention/backends/cuda_call.h"
#include "attention/cudnn/graph.h"
#include "attention/cudnn/launch.h"
#include "attention/cudnn/plan_cache.h"
#include "base/env.h"

namespace tessera::attention {
namespace {

class GraphRoute final : public CudnnRoute {
 public:
  Status run(const AttentionInputs& in, const AttentionOutputs& outputs) override;

 private:
  // For measurements only: docs/attention.md, "The second plan".
  const bool second_engine_ = env::get("TESSERA_CUDNN_SECOND_ENGINE") == "1";
  cudnn::PlanCache<cudnn::Graph> cache_;
  LengthsCache lengths_;
};

/// One handle per thread and device, as cuDNN asks for.
Result<cudnn::Handle> thread_handle(const cudnn::Library& library, int device, bool capturing) {
  thread_local std::map<int, cudnn::Handle> handles;
  if (const auto it = handles.find(device); it != handles.end()) return it->second;
  if (capturing) return not_in_capture("a thread's first use of cuDNN");
  TESSERA_TRY(cudnn::Handle handle, cudnn::Handle::create(library));
  return handles.emplace(device, std::move(handle)).first->second;
}

Result<cudnn::Graph> build_plan(const cudnn::Spec& spec, const cudnn::Handle& handle, bool second) {
  TESSERA_TRY(cudnn::Graph graph, cudnn::Graph::for_handle(spec, handle));
  TESSERA_TRY_OK(graph.build(second ? cudnn::second_engine(graph.engines()) : 0));
  return graph;
}

Status GraphRoute::run(const AttentionInputs& in, const AttentionOutputs& outputs) {
  if (!in.query.is_cuda()) return fail(ErrorCode::Unsupported, "cuDNN's graphs run on CUDA devices");
  TESSERA_TRY(const cudnn::Library library, cudnn::load_library());
  const c10::DeviceGuard guard(in.query.device());
  const int device = in.query.device().index();
  const bool capturing = is_capturing(in.query);
  const cudnn::Spec spec = cudnn_spec(in, outputs);
  TESSERA_TRY(const cudnn::Handle handle, thread_handle(library, device, capturing));
  TESSERA_TRY(const auto graph, cache_.find_or_build({spec, library.version, device}, [&]() -> Result<cudnn::Graph> {
    if (capturing) return not_in_capture("a cuDNN plan");
    return build_plan(spec, handle, second_engine_);
  }));
  cudnn::Pointers p{
      .q = in.query.data_ptr(), .k = in.key.data_ptr(), .v = in.value.data_ptr(), .o = outputs.out.data_ptr()};
  at::Tensor k_lengths, q_lengths;
  if (outputs.lse.defined()) p.stats = outputs.lse.data_ptr();
  if (const auto* mask = std::get_if<AdditiveMask>(&in.mask)) p.bias = mask->bias.data_ptr();
  if (const auto* keys = std::get_if<KeyLengths>(&in.mask)) {
    const std::vector<int64_t> queries(keys->values.size(), spec.seq_q);
    TESSERA_TRY(k_lengths, lengths_.on(*keys, in.query.device(), capturing));
    TESSERA_TRY(q_lengths, lengths_.on({queries}, in.query.device(), capturing));
    p.k_lengths = k_lengths.data_ptr(), p.q_lengths = q_lengths.data_ptr();
  }
  return cudnn::launch(*graph, handle, current_stream(in.query), p,
                       [&](int64_t bytes) { return workspace_like(in.query, bytes); });
}

}  // namespace

std::unique_ptr<CudnnRoute> make_cudnn_graph_route() {
  return std::make_unique<GraphRoute>();
}

}  // namespace tessera::attention
