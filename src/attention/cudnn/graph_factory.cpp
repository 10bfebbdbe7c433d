#include "attention/cudnn/graph_factory.h"

#ifdef TESSERA_WITH_CUDNN_GRAPH
#include "attention/cudnn/graph.h"
#endif

namespace tessera::attention::cudnn {

#ifdef TESSERA_WITH_CUDNN_GRAPH
Result<PlannedGraph> plan_graph(const Spec& spec, const DeviceDescription& device) {
  TESSERA_TRY([[maybe_unused]] const Library library, load_library());
  TESSERA_TRY(const Graph graph, Graph::for_description(spec, device));
  return PlannedGraph{graph.engines(), graph.plan_names()};
}
#else
Result<PlannedGraph> plan_graph(const Spec&, const DeviceDescription&) {
  return fail(ErrorCode::Unavailable, "this build was made without the headers of cuDNN and cudnn-frontend",
              "install a CUDA toolkit with cuDNN and pip's nvidia-cudnn-frontend, then build again");
}
#endif

}  // namespace tessera::attention::cudnn
