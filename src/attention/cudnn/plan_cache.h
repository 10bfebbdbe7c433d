// Keeps built plans by the exact problem they were built for, and remembers what is not supported.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "attention/cudnn/spec.h"
#include "base/result.h"

namespace tessera::attention::cudnn {

/// Everything that a plan depends on. Compared field by field: a hash alone would one day run a wrong plan.
struct PlanKey {
  Spec spec;
  int64_t version = 0;  ///< of cuDNN
  int device = 0;       ///< CUDA ordinal
  auto operator<=>(const PlanKey&) const = default;
};

/// `Plan` is Graph; tests put a plain struct there. Safe to call from several threads.
template <typename Plan>
class PlanCache {
 public:
  /// The plan of `key`, made by `build()` (→ Result<Plan>) when it is not there yet. Two threads that miss at once
  /// build one after the other, the second finds the first one's plan. Errors: those of `build`; Unsupported is
  /// remembered, anything else (memory, device) is tried again next time.
  template <typename Build>
  Result<std::shared_ptr<const Plan>> find_or_build(const PlanKey& key, Build&& build) {
    const std::lock_guard lock(mutex_);
    if (const auto it = plans_.find(key); it != plans_.end()) return it->second;
    Result<Plan> built = build();
    if (!built && built.error().code != ErrorCode::Unsupported) return fail(std::move(built).error());
    Entry entry = built ? Entry(std::make_shared<const Plan>(std::move(*built))) : fail(std::move(built).error());
    return plans_.emplace(key, std::move(entry)).first->second;
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return plans_.size();
  }

 private:
  using Entry = Result<std::shared_ptr<const Plan>>;  // shared: a call may still run a plan while others look up
  mutable std::mutex mutex_;
  std::map<PlanKey, Entry> plans_;
};

}  // namespace tessera::attention::cudnn
