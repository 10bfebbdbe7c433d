// Opens a model and runs requests: what the program, the C++ interface and the golden check call.
#pragma once

#include "tensor/aten.h"

#include <atomic>
#include <filesystem>

#include "attention/policy/overrides.h"
#include "base/json.h"
#include "base/result.h"
#include "pipeline/pipeline.h"
#include "runtime/options.h"

namespace tessera::runtime {

/// Who is told and asked while a request runs; all may be null.
struct RunHooks {
  pipeline::Progress* progress = nullptr;
  const std::atomic<bool>* cancelled = nullptr;
  tensor::Trace* trace = nullptr;
};

/// One finished request.
struct Generated {
  pipeline::Media media;
  pipeline::Timings timings;
  double total_seconds = 0;
};

/// A model that is ready for requests. Weights are loaded when their stage begins (see pipeline/pipeline.h).
/// One request at a time; several generators may run side by side.
class Generator {
 public:
  /// `overrides`: shared by the generators of a program, for a ForceScope that holds for all of them; else its own.
  /// Errors: Usage (a text that no flag takes), NotFound, BadFile (the folder), Unavailable (the device).
  static Result<Generator> open(const RuntimeOptions& options,
                                std::shared_ptr<attention::Overrides> overrides = nullptr);

  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;
  ~Generator();

  /// The request with every absent field filled in. Errors: Usage, with the nearest valid value.
  Result<pipeline::GenerateRequest> complete(const pipeline::GenerateRequest& request) const;

  /// Runs a completed request. The one place where exceptions of the layers below become errors.
  Result<Generated> run(const pipeline::GenerateRequest& request, const RunHooks& hooks);

  /// The attention decisions really taken so far: one object per site (see docs/attention.md).
  Json attention_report() const;

  /// The type and the integers that this model runs in, and why (runtime/arithmetic.h).
  Json arithmetic_report() const;

  /// For `ForceScope(generator.overrides(), choice)` around requests.
  attention::Overrides& overrides() const;

  const std::filesystem::path& folder() const;
  at::Device device() const;
  at::ScalarType dtype() const;

 private:
  struct State;
  explicit Generator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tessera::runtime
