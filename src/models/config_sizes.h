// Checks the sizes and counts in a component's config.json, before anything is computed from them.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace tessera::models {

/// Every size that the configs of our models know (channels, heads, …; also each entry of a list of sizes) is at least
/// 1, every count of layers at least 0, and none is so large that products of two overflow. Absent fields, null and
/// values of another type are left to the reader of the field.
/// `what` begins the message: "Flux config". Errors: BadFile, naming the field.
Status check_config_sizes(const Json& config, const char* what);

}  // namespace tessera::models
