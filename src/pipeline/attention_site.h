// Where a model calls attention, and with which sizes: known from its configs alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/policy/problem.h"
#include "attention/policy/selection.h"

namespace tessera::pipeline {

/// When a site runs: once for each prompt, once for each model call of a step, once for each decoded picture.
enum class SiteStage { Encode, Step, Decode };

/// All calls of one kind, e.g. the joint attention of Flux's double-stream blocks.
struct AttentionSite {
  std::string component;                ///< "transformer", "text_encoder", "vae"
  std::string site;                     ///< "transformer_blocks", "decoder.mid_block"
  attention::AttentionProblem problem;  ///< its role (self, cross) is part of it; dtype is set by who runs it
  int64_t count = 0;                    ///< calls for one pass of the component
  SiteStage stage = SiteStage::Step;
  std::optional<attention::Choice> pin = std::nullopt;            ///< as the layers' AttentionCall says
  std::optional<attention::Choice> layer_default = std::nullopt;  ///< the same
};

}  // namespace tessera::pipeline
