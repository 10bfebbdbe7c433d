// What a module's forward may use of its surroundings: the attention engine, the trace, and the place it stands at.
#pragma once

#include "tensor/aten.h"

#include "tensor/trace.h"

namespace tessera::attention {
class AttentionEngine;
}

namespace tessera::nn {

/// Passed down by const reference; `child` names the next level. With no trace the path stays empty (no strings built).
struct Scope {
  attention::AttentionEngine* engine = nullptr;  ///< nullptr: plain ATen attention (unit tests of modules)
  const char* component = "";                    ///< "transformer", "text_encoder", "vae": for per-component backends
  tensor::Trace* trace = nullptr;
  std::string path;  ///< trace name of this module, e.g. "step0/cond"

  Scope child(std::string_view name) const {
    if (trace == nullptr) return *this;
    Scope next = *this;
    if (!next.path.empty()) next.path += '/';
    next.path += name;
    return next;
  }

  /// Records under this scope's path (+ "/" + suffix when given).
  void record(const at::Tensor& value, std::string_view suffix = {}) const {
    if (trace == nullptr) return;
    trace->record(suffix.empty() ? path : path + "/" + std::string(suffix), value);
  }
};

}  // namespace tessera::nn
