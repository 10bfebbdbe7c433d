// cuDNN attention by our own graphs: plans by exact spec, handles by thread, work on LibTorch's current stream.
#include "attention/backends/cudnn_sdpa.h"

#include <map>
#include <mutex>

#include <c10/core/DeviceGuard.h>

#include "attention/backends/cuda_call.h"
#include "attention/cudnn/graph.h"
#include "attention/cudnn/plan_cache.h"

namespace tessera::attention {
namespace {

class GraphRoute final : public CudnnRoute {
 public:
  Status run(const AttentionInputs& in, const AttentionOutputs& outputs) override;

 private:
  at::Tensor lengths_on(const std::vector<int64_t>& values, at::Device device);

  cudnn::PlanCache<cudnn::Graph> cache_;
  std::mutex mutex_;
  // Lengths already on a device: a captured CUDA graph must not copy from host memory.
  std::map<std::pair<std::vector<int64_t>, int>, at::Tensor> lengths_;
};

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

at::Tensor GraphRoute::lengths_on(const std::vector<int64_t>& values, at::Device device) {
  const std::lock_guard lock(mutex_);
  const std::pair key(values, static_cast<int>(device.index()));
  if (const auto it = lengths_.find(key); it != lengths_.end()) return it->second;
  at::Tensor made = device_lengths({values}, device);
  // Kept ones are never dropped, a captured graph may read them; beyond this many they are made anew each time.
  constexpr size_t kMost = 1024;
  if (lengths_.size() < kMost) lengths_.emplace(key, made);
  return made;
}

Status GraphRoute::run(const AttentionInputs& in, const AttentionOutputs& outputs) {
  TESSERA_TRY(const cudnn::Library library, cudnn::load_library());
  const c10::DeviceGuard guard(in.query.device());
  const int device = in.query.device().index();
  const cudnn::Spec spec = cudnn_spec(in, outputs);
  TESSERA_TRY(const cudnn::Handle handle, thread_handle(library, device));
  TESSERA_TRY(const auto graph,
              cache_.find_or_build({spec, library.version, device}, [&] { return build_plan(spec, handle); }));
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

}  // namespace

std::unique_ptr<CudnnRoute> make_cudnn_graph_route() {
  return std::make_unique<GraphRoute>();
}

}  // namespace tessera::attention
