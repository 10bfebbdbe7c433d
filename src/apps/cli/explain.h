// The parts of `explain` that other modes and extras plug into: sites, and what else is asked about each of them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "attention/selections.h"
#include "base/json.h"
#include "base/result.h"
#include "pipeline/attention_site.h"
#include "platform/device_profile.h"

namespace tessera::cli {

/// One attention call of a model, or a named shape: what explain decides and prints.
struct ExplainSite {
  std::string name;                       ///< "flux_1024_self", or "transformer blocks.0 self"
  std::string component = "transformer";  ///< whose overrides and strictness apply
  attention::AttentionProblem problem;
  int64_t calls_per_step = 0;  ///< 0: not known, not printed
  pipeline::SiteStage stage = pipeline::SiteStage::Step;
  std::optional<attention::Choice> pin = std::nullopt;
  std::optional<attention::Choice> layer_default = std::nullopt;
};

/// A further answer about a problem on a device, e.g. {"ask_cudnn", {…}}; nothing when it has none to give.
using ExplainExtra = std::function<std::optional<std::pair<std::string, OrderedJson>>(
    const attention::AttentionProblem& problem, const platform::DeviceProfile& device)>;

struct ExplainContext {
  platform::DeviceProfile device;
  attention::SelectionTable selections;
  std::vector<ExplainExtra> extras;
  bool json = false;
  bool markdown = false;  ///< a table for the documentation
};

/// Decides every site and prints it: people's text, or one JSON object {"device", "sites"}.
void explain_sites(const std::vector<ExplainSite>& sites, const ExplainContext& context);

/// Reads JSON lines on stdin and writes one line each. A line that cannot be read gets an answer with an error, and the
/// whole ends with that error. `simulate` changes every row's device; `default_device` is that of rows without one.
Status explain_batch(const std::string& default_device, const std::string& simulate,
                     const std::vector<ExplainExtra>& extras);

}  // namespace tessera::cli
