// What a request will need, stage by stage, from file headers alone; and a refusal before anything is loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "residency/memory_limits.h"
#include "weights/checkpoint.h"

namespace tessera::residency {

/// The memory of one component's weights.
struct ComponentSize {
  std::string name;           ///< "transformer"
  int64_t mapped_bytes = 0;   ///< its files, mapped as long as it is loaded
  int64_t copied_bytes = 0;   ///< weights that are converted to the compute type: memory of their own
  int64_t used_in_place = 0;  ///< bytes of the mapping that are used as stored

  int64_t resident_bytes() const { return copied_bytes + used_in_place; }
};

/// The size of a component computed in `compute` (nothing: as stored), from headers alone.
ComponentSize component_size(const std::string& name, const weights::Checkpoint& checkpoint,
                             std::optional<DType> compute);

/// A part of a request, with the components that are loaded at the same time in it. They are released at its end.
struct Stage {
  std::string name;  ///< "encode"
  std::vector<ComponentSize> components;
  int64_t activation_bytes = 0;
};

/// What one stage needs, counted in the three ways that limits count.
struct StageNeed {
  Stage stage;
  int64_t resident_bytes = 0;
  int64_t data_bytes = 0;
  int64_t address_bytes = 0;

  int64_t counted(Counts counts) const;
};

/// The stages in their order and what they need. Pure: the same stages give the same plan.
struct ResidencyPlan {
  std::vector<StageNeed> stages;

  /// The stage that needs most by this count, or nullptr for an empty plan.
  const StageNeed* peak(Counts counts) const;
};

ResidencyPlan make_plan(std::vector<Stage> stages);

/// Ok when the plan's peak fits each limit; else OutOfMemory with the stage, its parts, and the limit that is exceeded
/// most.
Status check_plan(const ResidencyPlan& plan, const std::vector<MemoryLimit>& limits);

/// "23.80 GB", "512 MB": decimal units, for messages and tables.
std::string bytes_text(int64_t bytes);

}  // namespace tessera::residency
