// What the CUDA backends share: the current stream and how rows without keys and key lengths are treated.
// No CUDA header: streams and memory are reached through LibTorch's device interface.
#pragma once

#include "attention/inputs.h"

namespace tessera::attention {

/// The stream (cudaStream_t) that LibTorch works on now, on the tensor's device.
void* current_stream(const at::Tensor& tensor);

/// Bytes of scratch memory from LibTorch's caching allocator, on the tensor's device.
at::Tensor workspace_like(const at::Tensor& tensor, int64_t bytes);

/// Equal lengths need no mask: the keys are cut to that length, without a copy. Other inputs come back unchanged.
/// A length of 0, and bottom-right causality (its corner is that of all keys), keep the mask.
AttentionInputs without_equal_lengths(const AttentionInputs& inputs);

/// int32 [B] on the inputs' device, zeros raised to 1: a length of 0 is a hazard to vendor kernels. `clear_dead_rows`
/// afterwards gives those rows their value.
at::Tensor device_lengths(const KeyLengths& lengths, at::Device device);

/// Rows that no key length and no causal corner lets see a key: out 0, LSE -inf. Dense masks are not looked at.
void clear_dead_rows(const AttentionInputs& inputs, const AttentionOutputs& outputs);

}  // namespace tessera::attention
