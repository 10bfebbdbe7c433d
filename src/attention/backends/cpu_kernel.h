// Our own CPU kernels (kernels/attention.h) behind the backend interface: rows cpu_flash and cpu_sage.
#pragma once

#include "attention/backend.h"
#include "kernels/attention.h"

namespace tessera::attention {

/// The row decides the tier (cpu_flash: Exact; cpu_sage: High, Fast); strides are read as they are; only rows whose
/// elements lie apart are copied first. `isa` is Auto but for tests and golden_check.
class CpuKernelBackend : public AttentionBackend {
 public:
  explicit CpuKernelBackend(std::string name, kernels::Isa isa = kernels::Isa::Auto)
      : name_(std::move(name)), isa_(isa) {}
  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override;

 private:
  Status run_packed(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) const;
  Status run_kernel(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) const;

  std::string name_;
  kernels::Isa isa_;
};

/// ATen's threads for our kernels, so that both share one pool.
kernels::ParallelFor aten_threads();

}  // namespace tessera::attention
