// FlashAttention: generation 2 is in LibTorch, 3 and 4 are other libraries found at run time. No version is global.
#pragma once

#include <optional>
#include <string>

#include "attention/backend.h"
#include "attention/backends/cuda_call.h"
#include "attention/policy/backend_id.h"

namespace tessera::attention {

/// Why no FlashAttention kernel may get these tensors, whatever its generation; nothing when one may.
std::optional<Error> flash_refusal(const AttentionInputs& inputs);

/// LibTorch's own FlashAttention 2; key lengths and packed sequences go in natively, causality starts at the bottom
/// right.
class Flash2Backend : public AttentionBackend {
 public:
  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override;

 private:
  static Status run_packed(const AttentionInputs& inputs, const AttentionOutputs& outputs);
  LengthsCache lengths_;
};

/// An external generation through the operator that its library registers with LibTorch ("flash_attn_3::fwd"). The
/// arguments are filled in by the names in its schema, so releases that add arguments still work.
class FlashOperatorBackend : public AttentionBackend {
 public:
  explicit FlashOperatorBackend(BackendId id) : id_(id) {}
  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override;

 private:
  BackendId id_;
  LengthsCache lengths_;
};

/// The operator's name when the library of that generation is in the process or could be loaded from its file
/// (TESSERA_FLASH3_LIBRARY, TESSERA_FLASH4_LIBRARY, else the package beside LibTorch).
/// Errors: Unavailable with what was looked for and how to get it.
Result<std::string> flash_operator(BackendId id);

}  // namespace tessera::attention
