// From scheduler_config.json to a sampler: one row per class name.
#pragma once

#include "tensor/aten.h"

#include <filesystem>

#include "base/json.h"
#include "base/result.h"
#include "schedulers/scheduler.h"

namespace tessera::schedulers {

/// The sampler that a config names in `_class_name`, with the schedule of this request.
/// Errors: Unsupported for an unknown class (known ones are named), BadFile for a config that contradicts itself.
Result<std::unique_ptr<Scheduler>> make_scheduler(const Json& config, const ScheduleRequest& request);

}  // namespace tessera::schedulers
