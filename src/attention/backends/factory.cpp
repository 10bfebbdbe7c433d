// One row per backend. Libraries are looked for at run time; only cuDNN's graphs depend on headers at build time.
#include "attention/backends/factory.h"

#include <ATen/Context.h>

#include "attention/backends/cpu_kernel.h"
#include "attention/backends/cudnn_sdpa.h"
#include "attention/backends/flash.h"
#include "attention/backends/plugin.h"
#include "attention/backends/reference.h"
#include "attention/backends/torch_sdpa.h"
#include "attention/policy/catalog.h"

namespace tessera::attention {
namespace {

enum class Device { Any, Cuda };

struct Row {
  BackendId id;
  std::unique_ptr<AttentionBackend> (*make)(kernels::Isa isa);
  Device device = Device::Any;
};

template <typename Backend>
std::unique_ptr<AttentionBackend> make_plain(kernels::Isa) {
  return std::make_unique<Backend>();
}

template <BackendId id>
std::unique_ptr<AttentionBackend> make_kernel(kernels::Isa isa) {
  return std::make_unique<CpuKernelBackend>(std::string(backend_name(id)), isa);
}

std::unique_ptr<AttentionBackend> make_cudnn(kernels::Isa) {
#ifdef TESSERA_WITH_CUDNN_GRAPH
  return std::make_unique<CudnnSdpaBackend>(make_cudnn_graph_route());
#else
  return std::make_unique<CudnnSdpaBackend>(nullptr);
#endif
}

template <BackendId id>
std::unique_ptr<AttentionBackend> make_flash(kernels::Isa) {
  return std::make_unique<FlashOperatorBackend>(id);
}

// In the order of BackendId.
constexpr Row kRows[] = {
    {BackendId::Reference, make_plain<ReferenceBackend>},
    {BackendId::CpuFlash, make_kernel<BackendId::CpuFlash>},
    {BackendId::CpuSage, make_kernel<BackendId::CpuSage>},
    {BackendId::TorchSdpa, make_plain<TorchSdpaBackend>},
    {BackendId::TorchCudnnSdpa, make_cudnn, Device::Cuda},
    {BackendId::Fa2, make_plain<Flash2Backend>, Device::Cuda},
    {BackendId::Fa3, make_flash<BackendId::Fa3>, Device::Cuda},
    {BackendId::Fa4, make_flash<BackendId::Fa4>, Device::Cuda},
};

/// CUDA rows need LibTorch's CUDA part in the process and a device, whatever was compiled; the external FlashAttention
/// generations also their library.
bool is_there(const Row& row) {
  if (row.device == Device::Any) return true;
  if (!at::hasCUDA()) return false;
  return (row.id != BackendId::Fa3 && row.id != BackendId::Fa4) || flash_operator(row.id).has_value();
}

const Row* find_row(BackendId id) {
  for (const auto& row : kRows) {
    if (row.id == id && is_there(row)) return &row;
  }
  return nullptr;
}

}  // namespace

std::vector<BackendId> built_backends() {
  std::vector<BackendId> ids;
  for (const BackendId id : all_backends()) {
    if (find_row(id) != nullptr || !plugins_for(id).empty()) ids.push_back(id);
  }
  return ids;
}

std::set<std::string> built_backend_names() {
  std::set<std::string> names;
  for (const BackendId id : built_backends()) names.emplace(backend_name(id));
  return names;
}

void add_process_backends(platform::DeviceProfile& device) {
  if (device.simulated) return;
  device.built = built_backend_names();
  for (const BackendId id : built_backends()) {
    const std::string library(info(id).library);
    // cuDNN's version decides about known-bad rows, so its token comes from the probe alone.
    if (!library.empty() && id != BackendId::TorchCudnnSdpa) device.libraries.emplace(library, "");
  }
  for (const plugin::Plugin& p : plugins_for(BackendId::SageAttn)) {
    device.libraries["sage"] = p.version;
    // The faulty binding of SageAttention for 9.0 is in its Python module, which a plugin does not use.
    device.libraries.emplace("sage_sm90_fix", "");
  }
}

std::unique_ptr<AttentionBackend> make_backend(BackendId id, kernels::Isa isa) {
  // A plugin was asked for by name, so it goes before a backend of ours.
  if (auto plugins = plugins_for(id); !plugins.empty()) return std::make_unique<PluginBackend>(std::move(plugins));
  const Row* row = find_row(id);
  return row == nullptr ? nullptr : row->make(isa);
}

std::vector<kernels::Isa> isa_paths(BackendId id) {
  if (id == BackendId::CpuFlash || id == BackendId::CpuSage) return kernels::available_isas();
  return {kernels::Isa::Auto};
}

}  // namespace tessera::attention
