// Which attention ran where, and why: rows for `generate --json`, the log and the picture's metadata.
#pragma once

#include <string>
#include <vector>

#include "attention/policy/problem.h"
#include "attention/policy/resolver.h"
#include "base/json.h"

namespace tessera::attention {

/// One kind of call at one site.
struct SiteReport {
  std::string site;  ///< the component: "transformer", "text_encoder", "vae"
  AttentionProblem problem;
  std::string requested;  ///< name of the choice that applied, "auto" when nothing was asked
  std::string origin;  ///< who asked: "flag", "environment", "config", "recipe", "quant_policy", "rule", "default", …
  std::string level;   ///< at which level: "server", "component", "component_role", "layer_pin", …
  std::string evidence;          ///< the rule's evidence, the flag's text, or why the choice was not followed
  std::string backend;           ///< what serves it now; empty when nothing does
  std::string tier;              ///< "exact", "high", "fast"
  std::vector<Refusal> refused;  ///< by the catalog, latched, or quarantined
  int64_t calls = 0;
  std::string canary;  ///< "off", "pending", "passed", "failed"
  std::string error;   ///< why nothing serves it; empty otherwise
};

/// {"site", "role", "problem", "requested", "origin", "level", "evidence", "backend", "tier", "refused", "calls",
/// "canary"}.
OrderedJson to_json(const SiteReport& report);
OrderedJson to_json(const std::vector<SiteReport>& reports);

}  // namespace tessera::attention
