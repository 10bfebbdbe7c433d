#include "attention/policy/known_bad.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/strings.h"

namespace tessera::attention {
namespace {

using platform::DeviceProfile;

std::vector<int> parts_of(std::string_view version) {
  std::vector<int> out;
  for (const std::string& piece : strings::split(version, '.')) {
    int value = 0;
    std::from_chars(piece.data(), piece.data() + piece.size(), value);
    out.push_back(value);
  }
  return out;
}

std::string_view version_of(const DeviceProfile& d, const std::string& library) {
  const auto it = d.libraries.find(library);
  return it == d.libraries.end() ? std::string_view() : std::string_view(it->second);
}

bool cudnn_in(const DeviceProfile& d, std::string_view from, std::string_view before) {
  const std::string_view v = version_of(d, "cudnn");
  return !v.empty() && !older_than(v, from) && older_than(v, before);
}

bool every_problem(const AttentionProblem&) {
  return true;
}

constexpr KnownBad kRows[] = {
    {BackendId::TorchCudnnSdpa, "cudnn-9.10-sdpa",
     "cuDNN 9.10.0 and 9.10.1 refuse or miscompute attention graphs; cudnn-frontend blocks them by version",
     "https://github.com/NVIDIA/cudnn-frontend/releases", "install cuDNN 9.11 or newer, or use fa",
     [](const DeviceProfile& d) { return cudnn_in(d, "9.10.0", "9.10.2"); }, every_problem},
    {BackendId::TorchCudnnSdpa, "cudnn-before-9.7-blackwell", "cuDNN before 9.7 has no attention kernels for Blackwell",
     "https://docs.nvidia.com/deeplearning/cudnn/backend/latest/release-notes.html",
     "install cuDNN 9.7 or newer, or use fa",
     [](const DeviceProfile& d) { return d.sm.major >= 10 && cudnn_in(d, "0", "9.7.0"); }, every_problem},
    {BackendId::TorchCudnnSdpa, "cudnn-9.1-no-plan",
     "the cuDNN 9.1 of PyTorch 2.5 finds no execution plan for many diffusion shapes and raises at the first call",
     "https://github.com/huggingface/diffusers/issues/9704", "install cuDNN 9.3 or newer, or use torch_sdpa",
     [](const DeviceProfile& d) { return cudnn_in(d, "0", "9.3.0"); }, every_problem},
    {BackendId::TorchCudnnSdpa, "cudnn-sm100-few-kv-heads",
     "cuDNN returns corrupt results on B200-class devices when fewer than 8 key heads serve more query heads "
     "(seen with 9.19 and 9.20)",
     "https://github.com/pytorch/pytorch/issues/193893", "use fa or torch_sdpa",
     [](const DeviceProfile& d) { return d.is_blackwell(); },
     [](const AttentionProblem& p) { return p.is_gqa() && p.heads_kv < 8; }},
    {BackendId::TorchCudnnSdpa, "cudnn-cuda-before-12.9",
     "cuDNN attention reads out of bounds with CUDA runtimes before 12.9; PyTorch switched it off there",
     "https://github.com/pytorch/pytorch/issues/169849", "install a PyTorch built for CUDA 12.9 or newer, or use fa",
     [](const DeviceProfile& d) { return older_than(d.cuda, "12.9"); }, every_problem},
    {BackendId::SageAttn, "sage-sm12x-long",
     "SageAttention's 8-bit value product turns to noise beyond about 160000 keys on sm_12x",
     "https://github.com/Comfy-Org/ComfyUI/issues/15263", "use torch_sdpa",
     [](const DeviceProfile& d) { return d.is_sm12x(); }, [](const AttentionProblem& p) { return p.seq_kv > 160000; }},
};

}  // namespace

std::span<const KnownBad> known_bad_table() {
  return kRows;
}

const KnownBad* find_known_bad(BackendId id, const AttentionProblem& problem, const DeviceProfile& device) {
  for (const KnownBad& row : kRows) {
    if (row.backend == id && row.device_matches(device) && row.problem_matches(problem)) return &row;
  }
  return nullptr;
}

bool older_than(std::string_view version, std::string_view limit) {
  if (version.empty()) return false;
  return std::ranges::lexicographical_compare(parts_of(version), parts_of(limit));
}

}  // namespace tessera::attention
