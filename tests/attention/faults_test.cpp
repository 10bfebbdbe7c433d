// Every backend of this build with every fault, early and late, under several threads: right output or a clear error.
#include "attention/engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "attention/backends/factory.h"
#include "tests/attention/problems.h"

namespace tessera::attention {
namespace {

constexpr int kThreads = 4;
constexpr int kCallsOfAThread = 6;

/// What the calls of one run came to.
struct Outcome {
  int right = 0;
  int wrong = 0;
  std::map<ErrorCode, int> errors;
};

EngineOptions options_for(BackendId id, Fault fault, int64_t call) {
  EngineOptions options;
  options.device.kind = platform::DeviceKind::Cpu;
  options.device.isa = {"avx2"};
  // A preference: what the backend may not serve falls to others.
  options.selections.base.server = choose(id, Demand::Prefer);
  options.selections.base.quality = Quality::Fast;
  options.injections = {{id, fault, call}};
  return options;
}

Outcome run_threads(AttentionEngine& engine) {
  const auto made = make_problem({"faults", {1, 40, 40, 2, 2, 32, 32}});
  const auto want = reference_answer(made->inputs);
  Outcome outcome;
  std::mutex mutex;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCallsOfAThread; ++i) {
        const auto outputs = engine.run(made->inputs, {"transformer", Role::Self}, true);
        const std::lock_guard lock(mutex);
        if (!outputs) {
          ++outcome.errors[outputs.error().code];
        } else if (deviation(*outputs, want).out_l1 <= 2e-2) {  // the bound of cpu_sage, the loosest one built
          ++outcome.right;
        } else {
          ++outcome.wrong;
        }
      }
    });
  }
  threads.clear();
  return outcome;
}

/// The error that a fault must show as; nothing when the call has to succeed all the same.
std::optional<ErrorCode> expected_error(Fault fault) {
  switch (fault) {
    case Fault::Oom:
      return ErrorCode::OutOfMemory;
    case Fault::DeviceFault:
      return ErrorCode::DeviceFault;
    case Fault::Unsupported:
    case Fault::Garbage:
    case Fault::Nan:
    case Fault::NoWrite:
    case Fault::Slow:
      break;
  }
  return std::nullopt;
}

bool quarantines(Fault fault) {
  return fault == Fault::Garbage || fault == Fault::Nan || fault == Fault::NoWrite;
}

bool is_refused(const AttentionEngine& engine, BackendId id, Reason reason) {
  for (const auto& row : engine.report()) {
    for (const auto& refused : row.refused) {
      if (refused.backend == id && refused.reason == reason) return true;
    }
  }
  return false;
}

class EveryFault : public testing::TestWithParam<std::tuple<BackendId, Fault, int64_t>> {};

TEST_P(EveryFault, GivesTheRightOutputOrAClearError) {
  const auto [id, fault, call] = GetParam();
  const auto engine = make_engine(options_for(id, fault, call));
  const Outcome outcome = run_threads(*engine);
  EXPECT_EQ(outcome.wrong, 0);
  const auto error = expected_error(fault);
  const int failed = error ? 1 : 0;
  EXPECT_EQ(outcome.right, kThreads * kCallsOfAThread - failed);
  if (error) {
    EXPECT_EQ(outcome.errors, (std::map<ErrorCode, int>{{*error, 1}}));
  }
  EXPECT_EQ(is_refused(*engine, id, Reason::FailedBefore), fault == Fault::Unsupported);
  EXPECT_EQ(is_refused(*engine, id, Reason::Quarantined), quarantines(fault));
}

constexpr Fault kFaults[] = {Fault::Unsupported, Fault::Oom,     Fault::DeviceFault, Fault::Garbage,
                             Fault::Nan,         Fault::NoWrite, Fault::Slow};

std::string case_name(const testing::TestParamInfo<std::tuple<BackendId, Fault, int64_t>>& info) {
  const auto [id, fault, call] = info.param;
  return std::string(backend_name(id)) + "_" + std::string(fault_name(fault)) + "_" + std::to_string(call);
}

INSTANTIATE_TEST_SUITE_P(Attention, EveryFault,
                         testing::Combine(testing::ValuesIn(built_backends()), testing::ValuesIn(kFaults),
                                          testing::Values(1, 2, 11)),
                         case_name);

TEST(Faults, AStrictChoiceFailsInsteadOfFallingBack) {
  for (const Fault fault : {Fault::Unsupported, Fault::Garbage, Fault::Nan, Fault::NoWrite}) {
    EngineOptions options = options_for(BackendId::CpuFlash, fault, 1);
    options.selections.base.server = choose(BackendId::CpuFlash, Demand::Strict);
    const auto engine = make_engine(std::move(options));
    const Outcome outcome = run_threads(*engine);
    EXPECT_EQ(outcome.wrong, 0) << fault_name(fault);
    EXPECT_GE(outcome.errors.size(), 1U) << fault_name(fault);
    const ErrorCode want = fault == Fault::Unsupported ? ErrorCode::Unsupported : ErrorCode::NumericalFault;
    for (const auto& [code, count] : outcome.errors) EXPECT_EQ(code, want) << fault_name(fault);
  }
}

TEST(Faults, ALatchAndAQuarantineAreOneLogLineEach) {
  const std::pair<Fault, const char*> cases[] = {{Fault::Unsupported, "is not asked again for"},
                                                 {Fault::NoWrite, "is not used any more"}};
  for (const auto& [fault, text] : cases) {
    testing::internal::CaptureStderr();
    (void)run_threads(*make_engine(options_for(BackendId::CpuFlash, fault, 1)));
    const std::string log = testing::internal::GetCapturedStderr();
    std::size_t lines = 0;
    for (auto at = log.find(text); at != log.npos; at = log.find(text, at + 1)) ++lines;
    EXPECT_EQ(lines, 1U) << fault_name(fault) << ":\n" << log;
    EXPECT_NE(log.find("cpu_flash"), std::string::npos) << log;
  }
}

TEST(Faults, WithoutACanaryGarbageIsNotNoticed) {
  // Shows that the tests above fail when the canary does not work.
  EngineOptions options = options_for(BackendId::CpuFlash, Fault::Garbage, 2);
  options.canary = CanaryMode::Off;
  EXPECT_EQ(run_threads(*make_engine(std::move(options))).wrong, 1);
}

}  // namespace
}  // namespace tessera::attention
