// The interface of every model: one request in, frames out.
#pragma once

#include "tensor/aten.h"

#include "base/result.h"
#include "pipeline/attention_site.h"
#include "pipeline/context.h"
#include "pipeline/request.h"

namespace tessera::pipeline {

/// The result of one request.
struct Media {
  at::Tensor frames;  // [F, H, W, 3] uint8; F = 1 for a picture
  double fps = 0;     ///< 0 for a picture
};

/// A model folder opened for generation. Components are loaded when their stage begins and released after it.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  /// The request with every absent field filled in, or an error (Usage) that names the nearest valid value.
  virtual Result<GenerateRequest> complete(const GenerateRequest& request) const = 0;

  /// Where and how large attention is called for a completed request; from the configs alone, no weights needed.
  virtual std::vector<AttentionSite> attention_sites(const GenerateRequest& request) const = 0;

  /// Runs a completed request: encode, prepare, denoise, decode.
  /// Errors: throws RuntimeFault or Bug; runtime/generator is the one place that catches them.
  virtual Media generate(const GenerateRequest& request, Context& context) = 0;
};

}  // namespace tessera::pipeline
