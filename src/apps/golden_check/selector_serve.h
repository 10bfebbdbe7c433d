// What serves one layer in a given world: our decision, or the same walk with departures undone.
#pragma once

#include <optional>
#include <string>

#include "apps/golden_check/selector_departures.h"
#include "attention/policy/resolver.h"

namespace tessera::golden {

struct Served {
  std::optional<attention::Attempt> taken;
  std::string code;  ///< the reference's error code when nothing was taken
  bool warning = false;
};

/// What a decision was made for.
struct Layer {
  attention::AttentionProblem problem;
  attention::Selection selection;
  platform::DeviceProfile device;
};

Served serve(const attention::Decision& decision, const Layer& layer, const World& world);

}  // namespace tessera::golden
