// Decisions as a Markdown table, for the documentation.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/cli/explain.h"
#include "attention/policy/resolver.h"

namespace tessera::cli {

using ExplainedSite = std::pair<ExplainSite, attention::Decision>;

/// A heading with the device, a row for each site, and below the sentence of every refusal of a dense backend that the
/// rows name by its code.
std::string markdown_table(const std::vector<ExplainedSite>& rows, const platform::DeviceProfile& device);

}  // namespace tessera::cli
