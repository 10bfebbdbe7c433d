// The engine's guards on the real device: the canary, the latch after a refusal, misaligned rows, exhausted memory.
#include "apps/gpu_check/session.h"
#include "attention/backends/factory.h"
#include "attention/canary.h"
#include "attention/engine.h"
#include "base/strings.h"

namespace tessera::gpu_check {
namespace {

using namespace attention;

constexpr Shape kShape{2, 256, 320, 8, 4, 64};
constexpr CallSite kSite{"transformer", Role::Self};

void check_canary(Session& session, const Contender& contender) {
  const AttentionInputs in = random_inputs(session, kShape, at::kBFloat16);
  session.check("canary", contender.name, "a right answer passes, a damaged one does not", [&](OrderedJson&) -> Status {
    const bool lse = session.verdict(contender, in, true).accepted();
    const AttentionOutputs outputs = allocate_outputs(in, lse);
    poison(outputs);
    TESSERA_TRY_OK(contender.backend->run(in, outputs, Quality::Exact));
    TESSERA_TRY_OK(check_outputs(in, outputs, 0));
    outputs.out.select(0, 0).select(0, 0).zero_();
    const Status damaged = check_outputs(in, outputs, 0);
    TESSERA_TRY_OK(expect(!damaged, "a zeroed row passes the canary"));
    poison(outputs);
    return expect(!check_outputs(in, outputs, 0), "an untouched output passes the canary");
  });
}

/// An engine that prefers `first` and has LibTorch's attention to fall back on.
std::unique_ptr<AttentionEngine> engine_for(const Session& session, BackendId first, std::vector<Injection> faults) {
  EngineOptions options;
  options.device = session.profile;
  options.selections.base.server = choose(first, Demand::Prefer);
  options.injections = std::move(faults);
  options.canary = CanaryMode::Off;
  BackendMap backends;
  backends.emplace(first, make_backend(first));
  backends.emplace(BackendId::TorchSdpa, make_backend(BackendId::TorchSdpa));
  return std::make_unique<AttentionEngine>(std::move(options), std::move(backends));
}

/// What a check of a backend on its own needs first. Errors: Unsupported.
Status accepted(const Session& session, const Contender& contender, const AttentionInputs& in) {
  const Verdict verdict = session.verdict(contender, in, false);
  return verdict.accepted() ? Status() : fail(ErrorCode::Unsupported, "by policy: " + verdict.text);
}

/// Rows that begin 2 bytes after a multiple of 16: 16-byte loads of them would be a fault that ends the process's CUDA.
AttentionInputs misaligned(const AttentionInputs& from) {
  AttentionInputs in = from;
  for (at::Tensor* t : {&in.query, &in.key, &in.value}) {
    const at::Tensor room = at::zeros({t->numel() + 1}, t->options()).narrow(0, 1, t->numel()).view(t->sizes());
    *t = room.copy_(*t);
  }
  return in;
}

/// Refused by the policy for the one call; the backend's own guard stands behind it.
void check_alignment(Session& session, const Contender& contender) {
  const std::string subject = "misaligned rows are served by the next backend, aligned ones as before";
  if (session.dry()) return session.add("alignment", contender.name, subject, Outcome::Skipped, "needs a GPU");
  session.check("alignment", contender.name, subject, [&](OrderedJson&) -> Status {
    const AttentionInputs in = random_inputs(session, kShape, at::kBFloat16), odd = misaligned(in);
    TESSERA_TRY_OK(accepted(session, contender, in));
    const Status direct = contender.backend->run(odd, allocate_outputs(odd, false), Quality::Exact);
    TESSERA_TRY_OK(expect(!direct && direct.error().code == ErrorCode::Unsupported, "the backend ran misaligned rows"));
    const auto engine = engine_for(session, contender.id, {});
    for (const AttentionInputs& inputs : {odd, in}) {
      TESSERA_TRY(const AttentionOutputs outputs, engine->run(inputs, kSite));
      TESSERA_TRY_OK(check_outputs(inputs, outputs, 0));
    }
    const auto report = engine->report();
    TESSERA_TRY_OK(expect(report.at(0).backend == "torch_sdpa", "misaligned rows went to " + report.at(0).backend));
    return expect(report.at(1).backend == backend_name(contender.id), "the refusal was remembered for aligned rows");
  });
}

void check_latch(Session& session, const Contender& contender) {
  session.check("latch", contender.name, "a refusal is served by the next backend and remembered",
                [&](OrderedJson& numbers) -> Status {
                  // Injected: what a healthy device refuses by itself, the policy refuses before.
                  const auto engine = engine_for(session, contender.id, {{contender.id, Fault::Unsupported, 1}});
                  const AttentionInputs in = random_inputs(session, kShape, at::kBFloat16);
                  TESSERA_TRY_OK(accepted(session, contender, in));
                  for (int call = 0; call < 2; ++call) {
                    TESSERA_TRY(const AttentionOutputs outputs, engine->run(in, kSite));
                    TESSERA_TRY_OK(check_outputs(in, outputs, 0));
                  }
                  const SiteReport report = engine->report().at(0);
                  numbers["served_by"] = report.backend;
                  for (const Refusal& refusal : report.refused) {
                    if (refusal.backend == contender.id && refusal.reason == Reason::FailedBefore) {
                      numbers["reason"] = refusal.text;
                      return expect(report.backend == "torch_sdpa", "the latched backend served again");
                    }
                  }
                  return expect(false, "nothing was latched");
                });
}

/// Takes memory in halving pieces until less than 16 MiB is left.
std::vector<at::Tensor> all_memory(const Session& session) {
  std::vector<at::Tensor> pieces;
  const auto options = at::TensorOptions().dtype(at::kByte).device(session.tools->device());
  for (int64_t bytes = int64_t{1} << 37; bytes >= int64_t{1} << 24; bytes /= 2) {
    try {
      while (true) pieces.push_back(at::empty({bytes}, options));
    } catch (const c10::Error&) {
      continue;  // this size is used up
    }
  }
  return pieces;
}

void check_memory(Session& session, const Contender& contender) {
  session.check("memory", contender.name, "running out is reported, not latched", [&](OrderedJson&) -> Status {
    std::vector<Injection> faults;
    if (session.dry()) faults.push_back({contender.id, Fault::Oom, 1});
    const auto engine = engine_for(session, contender.id, faults);
    const int64_t seq = session.dry() ? 128 : 4096;
    const AttentionInputs in = random_inputs(session, {4, seq, seq, 16, 16, 64}, at::kBFloat16);
    TESSERA_TRY_OK(accepted(session, contender, in));
    std::vector<at::Tensor> taken;
    if (!session.dry()) taken = all_memory(session);
    const auto first = engine->run(in, kSite);
    taken.clear();
    TESSERA_TRY_OK(expect(!first && first.error().code == ErrorCode::OutOfMemory,
                          first ? "the call found memory" : first.error().line()));
    TESSERA_TRY(const AttentionOutputs outputs, engine->run(in, kSite));
    TESSERA_TRY_OK(check_outputs(in, outputs, 0));
    return expect(engine->report().at(0).backend == backend_name(contender.id), "exhausted memory was latched");
  });
}

}  // namespace

void check_guards(Session& session) {
  for (const Contender& contender : contenders(session)) {
    check_canary(session, contender);
    if (contender.id == BackendId::TorchSdpa || contender.name != backend_name(contender.id)) continue;
    check_latch(session, contender);
    check_alignment(session, contender);
    check_memory(session, contender);
  }
}

}  // namespace tessera::gpu_check
