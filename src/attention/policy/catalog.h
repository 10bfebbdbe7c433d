// The table of attention backends: one row and one accepts() each. Start here to add a backend.
#pragma once

#include <span>
#include <string_view>

#include "attention/policy/backend_id.h"
#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "attention/policy/verdict.h"
#include "platform/device_profile.h"

namespace tessera::attention {

/// How far a tier's output may be from exact attention on the same inputs.
struct ErrorBound {
  Quality tier = Quality::Exact;
  double l1_relative = 0;  ///< sum |out - exact| / sum |exact|
};

/// One backend. `accepts` looks at the problem and the device only; `name` equals backend_name(id).
struct BackendInfo {
  BackendId id = BackendId::Reference;
  std::string_view name;
  bool sparse = false;                 ///< drops key blocks: never exact, never for cross-attention
  bool loud_when_missing = false;      ///< its missing package is worth a warning: nobody types such a name by chance
  std::string_view library;            ///< token of DeviceProfile::libraries that must be there; empty: none
  std::span<const ErrorBound> bounds;  ///< the tiers it has; from the strictest to the loosest
  Verdict (*accepts)(const AttentionProblem& problem, const platform::DeviceProfile& device) = nullptr;
};

/// All rows, in the order of BackendId.
std::span<const BackendInfo> catalog();

const BackendInfo& info(BackendId id);

/// Built, installed, not known bad, and the row's own accepts().
Verdict accepts(BackendId id, const AttentionProblem& problem, const platform::DeviceProfile& device);

/// The bound that a result of this backend and tier is judged by (L1-relative); 0 when the tier is exact.
double error_bound(BackendId id, Quality tier);

/// The fastest tier that the asked quality allows, or nothing when all tiers of the row are looser than asked.
std::optional<Quality> tier_for(BackendId id, Quality asked);

}  // namespace tessera::attention
