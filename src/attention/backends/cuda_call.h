// What the CUDA backends share: the current stream and how rows without keys and key lengths are treated.
// No CUDA header: streams and memory are reached through LibTorch's device interface.
#pragma once

#include <map>
#include <mutex>
#include <optional>

#include "attention/inputs.h"

namespace tessera::attention {

/// The stream (cudaStream_t) that LibTorch works on now, on the tensor's device.
void* current_stream(const at::Tensor& tensor);

/// Bytes of scratch memory from LibTorch's caching allocator, on the tensor's device.
at::Tensor workspace_like(const at::Tensor& tensor, int64_t bytes);

/// True while the tensor's current stream records a CUDA graph: then nothing may be compiled, copied from the host or
/// waited for. Always false on a CPU.
bool is_capturing(const at::Tensor& tensor);

/// What a call needs and a capture forbids. Not Unsupported: the same call serves outside of the capture.
std::unexpected<Error> not_in_capture(std::string_view what);

/// Why kernels that read 16 bytes at a time must not get this tensor: its first byte or a stride is no multiple of 16
/// bytes. They do not check it themselves, and the device does not recover from a misaligned read.
std::optional<std::string> misaligned_rows(std::string_view name, const at::Tensor& tensor);

/// Equal lengths need no mask: the keys are cut to that length, without a copy. Other inputs come back unchanged.
/// A length of 0 or 1 (cuDNN has no kernel for a single key), and bottom-right causality short of all keys (its corner
/// is that of all keys), keep the mask.
AttentionInputs without_equal_lengths(const AttentionInputs& inputs);

/// The tensor where its rows are aligned or it lies on a CPU, else a dense copy: for kernels that must take everything.
at::Tensor aligned_or_copied(const at::Tensor& tensor);

/// int32 [B] on the inputs' device, zeros raised to 1: a length of 0 is a hazard to vendor kernels. `clear_dead_rows`
/// afterwards gives those rows their value.
at::Tensor device_lengths(const KeyLengths& lengths, at::Device device);

/// Key lengths that already lie on a device: a captured CUDA graph must not copy from host memory, and a copy of every
/// call waits for the device. Safe to call from several threads.
class LengthsCache {
 public:
  /// As `device_lengths`. Errors: Misuse when they are new and `capturing`.
  Result<at::Tensor> on(const KeyLengths& lengths, at::Device device, bool capturing);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::vector<int64_t>, int>, at::Tensor> kept_;  // by device index, -1 for a CPU
};

/// Rows that no key length and no causal corner lets see a key: out 0, LSE -inf. Dense masks are not looked at.
void clear_dead_rows(const AttentionInputs& inputs, const AttentionOutputs& outputs);

}  // namespace tessera::attention
