#include "attention/backends/cuda_call.h"

#include <dlfcn.h>

#include <bit>
#include <limits>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/strings.h"

namespace tessera::attention {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kRowBytes = 16;

void clear(const AttentionOutputs& outputs, int64_t row, int64_t queries) {
  outputs.out.select(0, row).narrow(0, 0, queries).zero_();
  if (outputs.lse.defined()) outputs.lse.select(0, row).narrow(1, 0, queries).fill_(-kInfinity);
}

}  // namespace

void* current_stream(const at::Tensor& tensor) {
  const c10::impl::VirtualGuardImpl guard(tensor.device().type());
  return guard.getStreamNativeHandle(guard.getStream(tensor.device()));
}

at::Tensor workspace_like(const at::Tensor& tensor, int64_t bytes) {
  return at::empty({bytes}, tensor.options().dtype(at::kByte));
}

bool is_capturing(const at::Tensor& tensor) {
  if (!tensor.is_cuda()) return false;
  // The runtime that LibTorch brought into the process: cudaError_t(cudaStream_t, cudaStreamCaptureStatus*).
  static const auto call = reinterpret_cast<int (*)(void*, int*)>(dlsym(RTLD_DEFAULT, "cudaStreamIsCapturing"));
  int status = 0;  // 1: active, 2: invalidated
  return call != nullptr && call(current_stream(tensor), &status) == 0 && status != 0;
}

std::unexpected<Error> not_in_capture(std::string_view what) {
  return fail(ErrorCode::Misuse, strings::join(what, " cannot be made while a CUDA graph is captured"),
              "make the same call once before the capture begins");
}

std::optional<std::string> misaligned_rows(std::string_view name, const at::Tensor& tensor) {
  if (std::bit_cast<intptr_t>(tensor.const_data_ptr()) % kRowBytes != 0) {
    return strings::join("the memory of the ", name, " does not begin at a multiple of 16 bytes");
  }
  for (int64_t d = 0; d + 1 < tensor.dim(); ++d) {
    const int64_t bytes = tensor.stride(d) * static_cast<int64_t>(tensor.element_size());
    if (tensor.size(d) > 1 && bytes % kRowBytes != 0) {
      return strings::join("a stride of the ", name, " is ", bytes, " bytes, not a multiple of 16");
    }
  }
  return std::nullopt;
}

at::Tensor aligned_or_copied(const at::Tensor& tensor) {
  return tensor.is_cpu() || !misaligned_rows("tensor", tensor) ? tensor : tensor.clone(at::MemoryFormat::Contiguous);
}

AttentionInputs without_equal_lengths(const AttentionInputs& in) {
  const auto* lengths = std::get_if<KeyLengths>(&in.mask);
  if (lengths == nullptr) return in;
  const auto& values = lengths->values;
  if (values.empty() || values[0] == 0 || (values[0] == 1 && in.key.size(1) > 1)) return in;
  if (in.causal == Causal::BottomRight && values[0] != in.key.size(1)) return in;
  if (std::any_of(values.begin(), values.end(), [&](int64_t n) { return n != values[0]; })) return in;
  AttentionInputs cut = in;
  cut.mask = std::monostate{};
  cut.key = in.key.narrow(1, 0, values[0]);
  cut.value = in.value.narrow(1, 0, values[0]);
  return cut;
}

at::Tensor device_lengths(const KeyLengths& lengths, at::Device device) {
  at::Tensor host = at::empty({static_cast<int64_t>(lengths.values.size())}, at::kInt);
  std::transform(lengths.values.begin(), lengths.values.end(), host.mutable_data_ptr<int>(),
                 [](int64_t n) { return static_cast<int>(std::max<int64_t>(n, 1)); });
  return host.to(device);
}

Result<at::Tensor> LengthsCache::on(const KeyLengths& lengths, at::Device device, bool capturing) {
  const std::lock_guard lock(mutex_);
  const std::pair key(std::vector<int64_t>(lengths.values.begin(), lengths.values.end()),
                      device.is_cpu() ? -1 : static_cast<int>(device.index()));
  if (const auto it = kept_.find(key); it != kept_.end()) return it->second;
  if (capturing) return not_in_capture("a copy of new key lengths to the device");
  at::Tensor made = device_lengths(lengths, device);
  // Kept ones are never dropped, a captured graph may read them; beyond this many they are made anew each time.
  constexpr size_t kMost = 1024;
  if (kept_.size() < kMost) kept_.emplace(key, made);
  return made;
}

void clear_dead_rows(const AttentionInputs& in, const AttentionOutputs& outputs) {
  const Sizes sizes = sizes_of(in);
  const int64_t corner = in.causal == Causal::BottomRight ? std::max<int64_t>(0, sizes.seq_q - sizes.seq_kv) : 0;
  const auto* lengths = std::get_if<KeyLengths>(&in.mask);
  for (int64_t row = 0; row < sizes.batch; ++row) {
    const bool empty = lengths != nullptr && lengths->values[static_cast<size_t>(row)] == 0;
    if (empty || corner > 0) clear(outputs, row, empty ? sizes.seq_q : corner);
  }
}

}  // namespace tessera::attention
