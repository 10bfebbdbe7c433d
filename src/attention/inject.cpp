// A backend around a backend: real exceptions of the libraries, real wrong outputs.
#include "attention/inject.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <limits>
#include <thread>

#include "attention/policy/selection.h"
#include "base/env.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

struct FaultRow {
  std::string_view name;
  Fault fault;
};

constexpr FaultRow kFaults[] = {
    {"unsupported", Fault::Unsupported},
    {"oom", Fault::Oom},
    {"fault", Fault::DeviceFault},
    {"garbage", Fault::Garbage},
    {"nan", Fault::Nan},
    {"nowrite", Fault::NoWrite},
    {"slow", Fault::Slow},
};

std::optional<Fault> fault_of(std::string_view name) {
  for (const auto& row : kFaults) {
    if (row.name == name) return row.fault;
  }
  return std::nullopt;
}

class FaultyBackend : public AttentionBackend {
 public:
  FaultyBackend(std::unique_ptr<AttentionBackend> inner, std::vector<Injection> faults)
      : inner_(std::move(inner)), faults_(std::move(faults)) {}

  Status run(const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) override {
    const int64_t call = calls_.fetch_add(1) + 1;
    for (const auto& injection : faults_) {
      if (injection.call == call) return run_with(injection.fault, inputs, outputs, tier);
    }
    return inner_->run(inputs, outputs, tier);
  }

 private:
  Status run_with(Fault fault, const AttentionInputs& inputs, const AttentionOutputs& outputs, Quality tier) {
    const c10::SourceLocation here = {__func__, __FILE__, static_cast<uint32_t>(__LINE__)};
    switch (fault) {
      case Fault::Unsupported:
        throw c10::NotImplementedError(here, "not supported (injected)");
      case Fault::Oom:
        throw c10::OutOfMemoryError(here, "out of memory (injected)");
      case Fault::DeviceFault:
        throw c10::AcceleratorError(here, 700, "CUDA error: illegal memory access (injected)");
      case Fault::NoWrite:
        return {};
      case Fault::Slow:
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        break;
      case Fault::Garbage:
      case Fault::Nan:
        break;
    }
    TESSERA_TRY_OK(inner_->run(inputs, outputs, tier));
    // Not larger than the values, so that only a comparison finds it.
    if (fault == Fault::Garbage) outputs.out.mul_(-0.5).add_(inputs.value.abs().max() * 0.25);
    if (fault == Fault::Nan) outputs.out.fill_(std::numeric_limits<double>::quiet_NaN());
    return {};
  }

  std::unique_ptr<AttentionBackend> inner_;
  std::vector<Injection> faults_;
  std::atomic<int64_t> calls_ = 0;
};

Result<Injection> parse_one(std::string_view text) {
  const auto bad = [&] {
    return fail(ErrorCode::Usage, strings::join("--inject '", text, "' is not BACKEND:FAULT@CALL"),
                "FAULT is unsupported, oom, fault, garbage, nan, nowrite or slow; CALL counts from 1");
  };
  const auto colon = text.find(':');
  const auto at_sign = text.find('@');
  if (colon == text.npos || at_sign == text.npos || at_sign < colon) return bad();
  TESSERA_TRY(const Choice choice, parse_choice(text.substr(0, colon)));
  const auto fault = fault_of(text.substr(colon + 1, at_sign - colon - 1));
  if (choice.kind != ChoiceKind::Backend || choice.demand != Demand::Usual || !fault) return bad();
  Injection injection = {choice.backend, *fault, 0};
  const std::string_view number = text.substr(at_sign + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), injection.call);
  if (error != std::errc{} || end != number.data() + number.size() || injection.call < 1) return bad();
  return injection;
}

}  // namespace

std::string_view fault_name(Fault fault) {
  for (const auto& row : kFaults) {
    if (row.fault == fault) return row.name;
  }
  return "";
}

Result<std::vector<Injection>> parse_injections(std::string_view text) {
  std::vector<Injection> injections;
  if (text.empty()) return injections;
  if (env::get("TESSERA_ALLOW_INJECT") != "1") {
    return fail(ErrorCode::Usage, "--inject is for tests only", "set TESSERA_ALLOW_INJECT=1 to allow it");
  }
  for (const auto& part : strings::split(text, ',')) {
    TESSERA_TRY(const Injection injection, parse_one(strings::trim(part)));
    injections.push_back(injection);
  }
  return injections;
}

std::unique_ptr<AttentionBackend> with_faults(BackendId id, std::unique_ptr<AttentionBackend> backend,
                                              const std::vector<Injection>& injections) {
  std::vector<Injection> own;
  for (const auto& injection : injections) {
    if (injection.backend == id) own.push_back(injection);
  }
  if (own.empty()) return backend;
  return std::make_unique<FaultyBackend>(std::move(backend), std::move(own));
}

}  // namespace tessera::attention
