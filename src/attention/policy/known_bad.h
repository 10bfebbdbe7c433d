// Combinations of library version, device and problem that are known to compute wrong results or to crash.
#pragma once

#include <span>
#include <string_view>

#include "attention/policy/backend_id.h"
#include "attention/policy/problem.h"
#include "platform/device_profile.h"

namespace tessera::attention {

/// One row: the backend is refused where `applies` says yes.
struct KnownBad {
  BackendId backend = BackendId::TorchCudnnSdpa;
  std::string_view id;      ///< short name for doctor and docs
  std::string_view what;    ///< what goes wrong, for whom
  std::string_view report;  ///< link to the public report
  std::string_view remedy;
  bool (*device_matches)(const platform::DeviceProfile& device) = nullptr;
  bool (*problem_matches)(const AttentionProblem& problem) = nullptr;  ///< which calls on such a device
};

std::span<const KnownBad> known_bad_table();

/// The first row that forbids this backend here, or nullptr.
const KnownBad* find_known_bad(BackendId id, const AttentionProblem& problem, const platform::DeviceProfile& device);

/// Compares "9.10.1" and "9.9" by number, part by part; an unknown (empty) version is neither older nor newer.
bool older_than(std::string_view version, std::string_view limit);

}  // namespace tessera::attention
