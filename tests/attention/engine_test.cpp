// What the engine does with the answers of backends, and what its report says about it.
#include "attention/engine.h"

#include <gtest/gtest.h>

#include <thread>

#include "attention/backends/factory.h"
#include "tests/attention/problems.h"
#include "tests/support/fake_backend.h"

namespace tessera::attention {
namespace {

using Script = test::FakeBackend::Script;

constexpr CallSite kTransformer = {"transformer", Role::Self};

/// An engine where `cpu_flash` follows a script and `torch_sdpa` is real. Automatic choice on a CPU prefers cpu_flash.
struct Scripted {
  std::shared_ptr<std::atomic<int64_t>> calls = std::make_shared<std::atomic<int64_t>>(0);
  std::unique_ptr<AttentionEngine> engine;

  explicit Scripted(Script script, EngineOptions options = {}) {
    BackendMap backends;
    backends.emplace(BackendId::CpuFlash, std::make_unique<test::FakeBackend>(std::move(script), calls));
    backends.emplace(BackendId::TorchSdpa, make_backend(BackendId::TorchSdpa));
    engine = std::make_unique<AttentionEngine>(std::move(options), std::move(backends));
  }
};

Status unsupported_always(int64_t) {
  return fail(ErrorCode::Unsupported, "fake: no such tile", "");
}
Status fine(int64_t) {
  return {};
}

std::unique_ptr<MadeProblem> small_problem() {
  return make_problem({"small", {1, 9, 9, 2, 2, 16, 16}});
}

void expect_right(const Result<AttentionOutputs>& outputs, const AttentionInputs& inputs) {
  ASSERT_TRUE(outputs) << outputs.error().line();
  EXPECT_LE(deviation(*outputs, reference_answer(inputs)).out, 1e-5);
}

TEST(Engine, RunsTheFirstCandidateAndCountsItsCalls) {
  Scripted scripted(fine);
  const auto made = small_problem();
  for (int i = 0; i < 3; ++i) expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
  EXPECT_EQ(scripted.calls->load(), 3);
  const auto report = scripted.engine->report();
  ASSERT_EQ(report.size(), 1U);
  EXPECT_EQ(report[0].backend, "cpu_flash");
  EXPECT_EQ(report[0].site, "transformer");
  EXPECT_EQ(report[0].calls, 3);
  EXPECT_EQ(report[0].requested, "auto");
}

TEST(Engine, ServesTheCallWithTheNextBackendAfterUnsupportedAndNeverAsksAgain) {
  Scripted scripted(unsupported_always);
  const auto made = small_problem();
  for (int i = 0; i < 3; ++i) expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
  EXPECT_EQ(scripted.calls->load(), 1);
  const auto row = scripted.engine->report().at(0);
  EXPECT_EQ(row.backend, "torch_sdpa");
  const auto latched = std::find_if(row.refused.begin(), row.refused.end(),
                                    [](const Refusal& r) { return r.reason == Reason::FailedBefore; });
  ASSERT_NE(latched, row.refused.end());
  EXPECT_EQ(latched->backend, BackendId::CpuFlash);
  EXPECT_NE(latched->text.find("no such tile"), std::string::npos);
}

TEST(Engine, LatchesOneKindOfProblemOnly) {
  Scripted scripted([](int64_t call) { return call == 1 ? unsupported_always(call) : fine(call); });
  const auto small = small_problem();
  const auto other = make_problem({"other", {1, 10, 9, 2, 2, 16, 16}});
  expect_right(scripted.engine->run(small->inputs, kTransformer), small->inputs);
  expect_right(scripted.engine->run(other->inputs, kTransformer), other->inputs);
  EXPECT_EQ(scripted.engine->report().at(0).backend, "torch_sdpa");
  EXPECT_EQ(scripted.engine->report().at(1).backend, "cpu_flash");
}

TEST(Engine, RemembersALatchForTheSameProblemOfAnotherComponent) {
  Scripted scripted(unsupported_always);
  const auto made = small_problem();
  expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
  expect_right(scripted.engine->run(made->inputs, {"vae", Role::Self}), made->inputs);
  EXPECT_EQ(scripted.calls->load(), 1);
}

TEST(Engine, ReturnsMemoryAndDeviceFailuresAndRemembersNothing) {
  for (const ErrorCode code : {ErrorCode::OutOfMemory, ErrorCode::DeviceFault, ErrorCode::Bug}) {
    Scripted scripted([code](int64_t call) { return call == 1 ? Status(fail(code, "fake")) : Status(); });
    const auto made = small_problem();
    const auto first = scripted.engine->run(made->inputs, kTransformer);
    ASSERT_FALSE(first);
    EXPECT_EQ(first.error().code, code);
    expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
    EXPECT_EQ(scripted.engine->report().at(0).backend, "cpu_flash") << "a failure of the moment was remembered";
  }
}

TEST(Engine, ConvertsExceptionsOfTheBackend) {
  Scripted scripted([](int64_t) -> Status { throw std::bad_alloc(); });
  const auto made = small_problem();
  const auto outputs = scripted.engine->run(made->inputs, kTransformer);
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::OutOfMemory);
}

TEST(Engine, NeverReplacesAStrictChoice) {
  EngineOptions options;
  options.selections.base.server = choose(BackendId::CpuFlash);
  Scripted scripted(unsupported_always, options);
  const auto made = small_problem();
  for (int i = 0; i < 2; ++i) {
    const auto outputs = scripted.engine->run(made->inputs, kTransformer);
    ASSERT_FALSE(outputs);
    EXPECT_EQ(outputs.error().code, ErrorCode::Unsupported);
    EXPECT_NE(outputs.error().what.find("no such tile"), std::string::npos) << outputs.error().line();
  }
  // The global flag is only a preference outside of transformers.
  expect_right(scripted.engine->run(made->inputs, {"text_encoder", Role::Self}), made->inputs);
}

TEST(Engine, ObeysChoicesPerComponentAndRole) {
  EngineOptions options;
  options.selections.choices = *parse_component_choices("transformer.cross=torch_sdpa,vae=torch_sdpa,text_encoder=fa3");
  Scripted scripted(fine, options);
  const auto made = small_problem();
  EXPECT_TRUE(scripted.engine->run(made->inputs, {"transformer", Role::Self}));
  EXPECT_TRUE(scripted.engine->run(made->inputs, {"transformer", Role::Cross}));
  const auto rows = scripted.engine->report();
  EXPECT_EQ(rows.at(0).backend, "cpu_flash");
  EXPECT_EQ(rows.at(1).backend, "torch_sdpa");
  EXPECT_EQ(rows.at(1).origin, "flag");
  EXPECT_EQ(rows.at(1).level, "component_role");
  EXPECT_FALSE(scripted.engine->run(made->inputs, {"text_encoder", Role::Self})) << "fa3 does not run on a CPU";
}

TEST(Engine, ALayersPinGoesBeforeEverythingAndItsDefaultBehind) {
  EngineOptions options;
  options.selections.base.server = choose(BackendId::CpuFlash);
  Scripted scripted(fine, options);
  const auto made = small_problem();
  CallSite site = kTransformer;
  site.pin = choose(BackendId::TorchSdpa);
  EXPECT_TRUE(scripted.engine->run(made->inputs, site));
  EXPECT_TRUE(scripted.engine->run(made->inputs, kTransformer));
  auto rows = scripted.engine->report();
  ASSERT_EQ(rows.size(), 2U) << "a pinned layer shares no decision with the others";
  EXPECT_EQ(rows[0].backend, "torch_sdpa");
  EXPECT_EQ(rows[0].origin, "layer_pin");
  EXPECT_EQ(rows[1].backend, "cpu_flash");

  Scripted automatic(fine);
  site = kTransformer;
  site.layer_default = choose(BackendId::TorchSdpa);
  EXPECT_TRUE(automatic.engine->run(made->inputs, site));
  EXPECT_EQ(automatic.engine->report().at(0).backend, "torch_sdpa");
  EXPECT_EQ(automatic.engine->report().at(0).origin, "layer_default");
}

TEST(Engine, AForceScopeHoldsForEveryEngineThatSharesTheOverrides) {
  EngineOptions options;
  options.overrides = std::make_shared<Overrides>();
  options.selections.choices = *parse_component_choices("transformer=cpu_flash");
  Scripted one(fine, options), other(fine, options);
  const auto made = small_problem();
  const auto backend = [&](Scripted& scripted) {
    EXPECT_TRUE(scripted.engine->run(made->inputs, kTransformer));
    return scripted.engine->report().back().backend;
  };
  EXPECT_EQ(backend(one), "cpu_flash");
  {
    const ForceScope force(*options.overrides, choose(BackendId::TorchSdpa));
    EXPECT_EQ(backend(one), "torch_sdpa");
    EXPECT_EQ(backend(other), "torch_sdpa");
    EXPECT_EQ(one.engine->report().back().origin, "forced");
  }
  EXPECT_TRUE(one.engine->run(made->inputs, kTransformer));
  const auto rows = one.engine->report();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].calls, 2) << "the former decision serves again";
  EXPECT_EQ(rows[1].calls, 1);
}

TEST(Engine, ForceScopesOfOtherThreadsNeverMixDecisions) {
  EngineOptions options;
  options.overrides = std::make_shared<Overrides>();
  Scripted scripted(fine, options);
  const auto made = small_problem();
  std::jthread forcing([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) const ForceScope force(*options.overrides, choose(BackendId::TorchSdpa));
  });
  for (int i = 0; i < 300; ++i) EXPECT_TRUE(scripted.engine->run(made->inputs, kTransformer));
  forcing.request_stop();
  forcing.join();
  for (const auto& row : scripted.engine->report()) {
    EXPECT_EQ(row.backend, row.origin == "forced" ? "torch_sdpa" : "cpu_flash");
  }
}

TEST(Engine, ServesPackedSequencesAndChecksThemLikeOthers) {
  EngineOptions options;
  options.canary = CanaryMode::Always;
  const auto engine = make_engine(options);
  for (const auto* table : {&problem_table(), &masked_packed_table()}) {
    for (const auto& problem : *table) {
      if (problem.query_bounds.empty()) continue;
      const auto made = make_problem(problem);
      const auto outputs = engine->run(made->inputs, kTransformer, true);
      ASSERT_TRUE(outputs) << problem.name << ": " << outputs.error().line();
      EXPECT_LE(deviation(*outputs, reference_answer(made->inputs)).out, out_tolerance(problem.dtype)) << problem.name;
    }
  }
  for (const auto& row : engine->report()) EXPECT_NE(row.canary, "failed") << row.evidence;
}

TEST(Engine, TheCanaryFindsSequencesThatSeeEachOther) {
  // A backend that ignores the bounds: right for every dense call.
  struct Mixing : AttentionBackend {
    Status run(const AttentionInputs& in, const AttentionOutputs& outputs, Quality tier) override {
      AttentionInputs all = in;
      all.packed.reset();
      return make_backend(BackendId::TorchSdpa)->run(all, outputs, tier);
    }
  };
  BackendMap backends;
  backends.emplace(BackendId::CpuFlash, std::make_unique<Mixing>());
  backends.emplace(BackendId::TorchSdpa, make_backend(BackendId::TorchSdpa));
  EngineOptions options;
  options.canary = CanaryMode::First;
  AttentionEngine engine(options, std::move(backends));
  Problem problem = {"mixing", {1, 40, 40, 2, 2, 16, 16}};
  problem.query_bounds = problem.key_bounds = {0, 15, 40};
  const auto made = make_problem(problem);
  expect_right(engine.run(made->inputs, kTransformer), made->inputs);
  EXPECT_EQ(engine.report().at(0).canary, "failed");
  EXPECT_EQ(engine.report().at(0).backend, "torch_sdpa");
}

TEST(Engine, AnswersEmptyProblemsWithoutABackend) {
  Scripted scripted(fine);
  const auto made = make_problem({"no keys", {2, 3, 4, 2, 2, 8, 8}});
  made->inputs.key = made->inputs.key.narrow(1, 0, 0);
  made->inputs.value = made->inputs.value.narrow(1, 0, 0);
  const auto outputs = scripted.engine->run(made->inputs, kTransformer, true);
  ASSERT_TRUE(outputs);
  EXPECT_TRUE((outputs->out == 0).all().item<bool>());
  EXPECT_TRUE(at::isfinite(outputs->lse).logical_not().all().item<bool>());
  EXPECT_EQ(scripted.calls->load(), 0);
}

TEST(Engine, TellsApartEverythingADecisionMayDependOn) {
  Scripted scripted(fine);
  const auto dense = small_problem();
  const auto run = [&](const AttentionInputs& inputs, const CallSite& site, bool lse) {
    EXPECT_TRUE(scripted.engine->run(inputs, site, lse));
  };
  run(dense->inputs, kTransformer, false);
  run(dense->inputs, kTransformer, true);
  run(dense->inputs, {"transformer", Role::Cross}, false);
  run(dense->inputs, {"transformer_2", Role::Self}, false);
  AttentionInputs changed = dense->inputs;
  changed.causal = Causal::TopLeft;
  run(changed, kTransformer, false);
  changed.causal = Causal::BottomRight;
  run(changed, kTransformer, false);
  changed.scale = 0.5;
  run(changed, kTransformer, false);
  for (const MaskShape mask : {MaskShape::Lengths, MaskShape::BoolPlane, MaskShape::AddFull}) {
    run(make_problem({"mask", {1, 9, 9, 2, 2, 16, 16}, at::kFloat, Causal::None, mask})->inputs, kTransformer, false);
  }
  run(make_problem({"layout", {1, 9, 9, 2, 2, 16, 16}, at::kFloat, Causal::None, MaskShape::None, Memory::HeadMajor})
          ->inputs,
      kTransformer, false);
  run(make_problem({"bf16", {1, 9, 9, 2, 2, 16, 16}, at::kBFloat16})->inputs, kTransformer, false);
  EXPECT_EQ(scripted.engine->report().size(), 12U);
  run(dense->inputs, kTransformer, false);
  EXPECT_EQ(scripted.engine->report().size(), 12U);
  EXPECT_EQ(scripted.engine->report().at(0).calls, 2);
}

TEST(Engine, ReportsAsJsonWhatGenerateShows) {
  EngineOptions options;
  options.selections.base.server = choose(BackendId::TorchSdpa, Demand::Prefer);
  options.selections.base.server_origin = "environment";
  Scripted scripted(fine, options);
  const auto made = small_problem();
  EXPECT_TRUE(scripted.engine->run(made->inputs, kTransformer));
  const OrderedJson rows = to_json(scripted.engine->report());
  ASSERT_EQ(rows.size(), 1U);
  for (const char* key : {"site", "role", "problem", "requested", "origin", "backend", "refused", "calls", "canary"}) {
    EXPECT_TRUE(rows[0].contains(key)) << key;
  }
  EXPECT_EQ(rows[0]["requested"], "torch_sdpa");
  EXPECT_EQ(rows[0]["origin"], "environment");
  EXPECT_EQ(rows[0]["backend"], "torch_sdpa");
  EXPECT_EQ(rows[0]["problem"]["seq_q"], 9);
  EXPECT_EQ(rows[0]["calls"], 1);
}

bool capture_is_on = false;

EngineOptions with_pretended_capture() {
  capture_is_on = false;
  EngineOptions options;
  options.capturing = [](const at::Tensor&) { return capture_is_on; };
  return options;
}

TEST(Engine, ACaptureRunsWhatServedBeforeAndNothingElse) {
  Scripted scripted(fine, with_pretended_capture());
  const auto made = small_problem();
  capture_is_on = true;
  const auto too_early = scripted.engine->run(made->inputs, kTransformer);
  ASSERT_FALSE(too_early);
  EXPECT_EQ(too_early.error().code, ErrorCode::Misuse);
  EXPECT_NE(too_early.error().line().find("once before the capture"), std::string::npos) << too_early.error().line();
  EXPECT_EQ(scripted.calls->load(), 0) << "a plan would have been made inside of the capture";
  capture_is_on = false;
  expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
  capture_is_on = true;
  expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
  EXPECT_EQ(scripted.calls->load(), 2);
  EXPECT_EQ(scripted.engine->report().at(0).backend, "cpu_flash") << "nothing was latched by the early call";
}

TEST(Engine, ACaptureUsesTheFallbackThatWasFoundBeforeIt) {
  Scripted scripted(unsupported_always, with_pretended_capture());
  const auto made = small_problem();
  expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
  capture_is_on = true;
  expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
  EXPECT_EQ(scripted.calls->load(), 1);
}

TEST(Engine, ACaptureNeitherFallsBackNorLatchesNorChecks) {
  EngineOptions options = with_pretended_capture();
  options.canary = CanaryMode::Always;
  Scripted scripted([](int64_t call) { return call == 2 ? unsupported_always(call) : fine(call); }, options);
  const auto made = small_problem();
  expect_right(scripted.engine->run(made->inputs, kTransformer), made->inputs);
  capture_is_on = true;
  const auto refused = scripted.engine->run(made->inputs, kTransformer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  // A canary would read NaN here; the captured work has not run yet, so there is nothing to check.
  made->inputs.value.fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(scripted.engine->run(made->inputs, kTransformer));
  EXPECT_EQ(scripted.engine->report().at(0).backend, "cpu_flash");
  EXPECT_EQ(scripted.calls->load(), 3);
}

TEST(Engine, ServesSeveralThreadsAtOnce) {
  Scripted scripted(unsupported_always);
  std::vector<std::unique_ptr<MadeProblem>> problems;
  std::vector<test::ReferenceResult> answers;
  for (int64_t i = 0; i < 4; ++i) {
    problems.push_back(make_problem({"threads", {1, 8 + i, 9, 2, 2, 16, 16}}));
    answers.push_back(reference_answer(problems.back()->inputs));
  }
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < 40; ++i) {
        const auto outputs = scripted.engine->run(problems[i % 4]->inputs, kTransformer, true);
        if (!outputs || deviation(*outputs, answers[i % 4]).out > 1e-5) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
  int64_t calls = 0;
  for (const auto& row : scripted.engine->report()) calls += row.calls;
  EXPECT_EQ(calls, 160);
}

}  // namespace
}  // namespace tessera::attention
