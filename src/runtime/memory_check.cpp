#include "runtime/memory_check.h"

#include "tensor/dtypes.h"
#include "weights/checkpoint.h"
#include "weights/pipeline_folder.h"

namespace tessera::runtime {
namespace {

// What the process needs besides weights and activations of the model: allocator arenas, thread stacks, scratch of the
// GEMM library. Measured on the demo model: 70 MB above its weights; the rest is room for more threads.
constexpr int64_t kWorkingBytes = int64_t{128} << 20;

// Live copies of [tokens, heads * head_dim] in a transformer block: residual, normed, q, k, v, attended, and the hidden
// layer of the feed-forward part (4 wide), with its input and output.
constexpr int64_t kLiveActivations = 12;

/// The most that one of a component's attention sites stands for.
int64_t activation_bytes(const std::string& component, const std::vector<pipeline::AttentionSite>& sites,
                         int64_t element_bytes) {
  int64_t most = 0;
  for (const auto& site : sites) {
    if (site.component != component) continue;
    const auto& p = site.problem;
    most = std::max(most, p.batch * p.seq_q * p.heads_q * p.head_dim * element_bytes * kLiveActivations);
  }
  return most;
}

/// Integer linears replace the stored weights that they are packed from: the stored ones are read once, and their pages
/// given back. Which layers those are is told by their names here; the models decide it (nn::Rounding).
void add_packed(const weights::Checkpoint& checkpoint, DType compute, weights::LinearTier linears,
                residency::ComponentSize& size) {
  if (linears == weights::LinearTier::Exact) return;
  weights::Checkpoint bulk;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    if (tensor.info.shape.size() == 2 && !has("norm") && !has("embed") && !has("_mod")) bulk.tensors[name] = tensor;
  }
  int64_t elements = 0;
  for (const auto& [name, tensor] : bulk.tensors) elements += tensor.info.elements();
  const int64_t copied = bulk.copied_bytes(compute);
  size.used_in_place -= bulk.loaded_bytes(compute) - copied;
  size.copied_bytes += elements * (linears == weights::LinearTier::Fast ? 1 : 2) - copied;
}

std::string stage_of(const std::string& component) {
  if (component.starts_with("text_encoder")) return "encode";
  if (component.starts_with("vae")) return "decode";
  return "denoise";
}

}  // namespace

Result<std::vector<residency::Stage>> memory_stages(const std::filesystem::path& path,
                                                    const std::vector<pipeline::AttentionSite>& sites,
                                                    const Arithmetic& arithmetic) {
  TESSERA_TRY(const auto folder, weights::open_pipeline_folder(path));
  const DType dtype = tensor::dtype_of(arithmetic.dtype);
  std::vector<residency::Stage> stages;
  for (const auto& [name, component] : folder.components) {
    std::error_code ec;
    const bool has_weights = component.library != "null" && std::filesystem::is_directory(folder.folder(name), ec) &&
                             !name.starts_with("tokenizer") && !name.starts_with("scheduler") &&
                             !name.ends_with("processor");
    if (!has_weights) continue;
    TESSERA_TRY(const auto checkpoint, weights::open_component(folder.folder(name)));
    residency::Stage stage{.name = stage_of(name)};
    stage.components.push_back(residency::component_size(name, checkpoint, dtype));
    if (name.starts_with("transformer")) add_packed(checkpoint, dtype, arithmetic.linears, stage.components.back());
    stage.activation_bytes = kWorkingBytes + activation_bytes(name, sites, size_bytes(dtype));
    stages.push_back(std::move(stage));
  }
  return stages;
}

Status check_memory(const std::vector<residency::Stage>& stages) {
  return residency::check_plan(residency::make_plan(stages), residency::memory_limits());
}

}  // namespace tessera::runtime
