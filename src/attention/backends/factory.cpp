// One row per backend; rows of optional libraries stand between their #if.
#include "attention/backends/factory.h"

#include "attention/backends/cpu_kernel.h"
#include "attention/backends/reference.h"
#include "attention/backends/torch_sdpa.h"

namespace tessera::attention {
namespace {

struct Row {
  BackendId id;
  std::unique_ptr<AttentionBackend> (*make)(kernels::Isa isa);
};

template <typename Backend>
std::unique_ptr<AttentionBackend> make_plain(kernels::Isa) {
  return std::make_unique<Backend>();
}

template <BackendId id>
std::unique_ptr<AttentionBackend> make_kernel(kernels::Isa isa) {
  return std::make_unique<CpuKernelBackend>(std::string(backend_name(id)), isa);
}

// In the order of BackendId.
constexpr Row kRows[] = {
    {BackendId::Reference, make_plain<ReferenceBackend>},
    {BackendId::CpuFlash, make_kernel<BackendId::CpuFlash>},
    {BackendId::CpuSage, make_kernel<BackendId::CpuSage>},
    {BackendId::TorchSdpa, make_plain<TorchSdpaBackend>},
};

}  // namespace

std::vector<BackendId> built_backends() {
  std::vector<BackendId> ids;
  for (const auto& row : kRows) ids.push_back(row.id);
  return ids;
}

std::set<std::string> built_backend_names() {
  std::set<std::string> names;
  for (const auto& row : kRows) names.emplace(backend_name(row.id));
  return names;
}

std::unique_ptr<AttentionBackend> make_backend(BackendId id, kernels::Isa isa) {
  for (const auto& row : kRows) {
    if (row.id == id) return row.make(isa);
  }
  return nullptr;
}

std::vector<kernels::Isa> isa_paths(BackendId id) {
  if (id == BackendId::CpuFlash || id == BackendId::CpuSage) return kernels::available_isas();
  return {kernels::Isa::Auto};
}

}  // namespace tessera::attention
