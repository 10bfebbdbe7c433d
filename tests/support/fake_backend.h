// A backend that does what a script says, for tests of the attention engine.
#pragma once

#include "tensor/aten.h"

#include <atomic>
#include <functional>

#include "attention/backends/reference.h"

namespace tessera::test {

/// Call n (from 1) runs `script(n)`; without an error it answers like the reference. The script may throw.
class FakeBackend : public attention::AttentionBackend {
 public:
  using Script = std::function<Status(int64_t call)>;
  FakeBackend(Script script, std::shared_ptr<std::atomic<int64_t>> calls)  // shared: the engine owns the backend
      : script_(std::move(script)), calls_(std::move(calls)) {}

  Status run(const attention::AttentionInputs& inputs, const attention::AttentionOutputs& outputs,
             attention::Quality tier) override {
    const Status done = script_(calls_->fetch_add(1) + 1);
    if (!done) return done;
    return reference_.run(inputs, outputs, tier);
  }

 private:
  Script script_;
  std::shared_ptr<std::atomic<int64_t>> calls_;
  attention::ReferenceBackend reference_;
};

}  // namespace tessera::test
