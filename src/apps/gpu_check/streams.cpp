// Asynchronous execution: other streams, scratch memory that is given back early, graphs, and several threads.
#include <thread>

#include "apps/gpu_check/session.h"
#include "attention/backends/factory.h"
#include "attention/engine.h"
#include "base/strings.h"

namespace tessera::gpu_check {
namespace {

using namespace attention;

constexpr Shape kShape{2, 512, 640, 8, 4, 64};
constexpr CallSite kSite{"transformer", Role::Self};

/// Keeps the current stream busy for some milliseconds, so that work on a wrong stream overtakes it.
void delay(const Session& session) {
  const int64_t n = session.dry() ? 64 : 4096;
  const auto options = at::TensorOptions().dtype(at::kBFloat16).device(session.tools->device());
  at::Tensor x = at::ones({n, n}, options);
  for (int i = 0; i < 8; ++i) x = at::matmul(x, x).mul(1e-4);
}

/// The unequal lengths give the masked path, with its own device memory, a turn.
struct Case {
  const char* name;
  std::vector<int64_t> lengths;
};
const Case kCases[] = {{"dense", {}}, {"key lengths", {640, 333}}};

AttentionInputs inputs_of(const Session& session, const Case& c) {
  AttentionInputs in = random_inputs(session, kShape, at::kBFloat16);
  if (!c.lengths.empty()) in.mask = KeyLengths{c.lengths};
  return in;
}

Result<at::Tensor> answer(Session& session, const Contender& contender, const AttentionInputs& in) {
  const Verdict verdict = session.verdict(contender, in, false);
  if (!verdict.accepted()) return fail(ErrorCode::Unsupported, "by policy: " + verdict.text);
  const AttentionOutputs outputs = allocate_outputs(in, false);
  TESSERA_TRY_OK(contender.backend->run(in, outputs, Quality::Exact));
  session.tools->synchronize();
  return outputs.out;
}

void copy_into(const AttentionInputs& to, const AttentionInputs& from) {
  to.query.copy_(from.query, true), to.key.copy_(from.key, true), to.value.copy_(from.value, true);
}

/// The inputs become right only behind a delay on the other stream: a kernel on any other stream reads zeros.
void check_order(Session& session, const Contender& contender, const Case& c) {
  session.check("stream", contender.name, c.name, [&](OrderedJson&) -> Status {
    const AttentionInputs real = inputs_of(session, c);
    TESSERA_TRY(const at::Tensor want, answer(session, contender, real));
    AttentionInputs late = real;
    late.query = at::zeros_like(real.query), late.key = at::zeros_like(real.key);
    late.value = at::zeros_like(real.value);
    session.tools->synchronize();
    const AttentionOutputs outputs = allocate_outputs(late, false);
    Status done;
    session.tools->on_other_stream([&] {
      delay(session);
      copy_into(late, real);
      done = contender.backend->run(late, outputs, Quality::Exact);
    });
    TESSERA_TRY_OK(done);
    session.tools->synchronize();
    return expect(relative_error(outputs.out, want) <= 1e-6, "the kernel did not run on the current stream");
  });
}

/// Many calls in a row on two streams: scratch memory freed by one call is at once another one's.
void check_reuse(Session& session, const Contender& contender, const Case& c) {
  session.check("scratch memory", contender.name, c.name, [&](OrderedJson&) -> Status {
    const AttentionInputs in = inputs_of(session, c);
    TESSERA_TRY(const at::Tensor want, answer(session, contender, in));
    std::vector<AttentionOutputs> all;
    for (int i = 0; i < 16; ++i) all.push_back(allocate_outputs(in, false));
    session.tools->synchronize();
    Status done;
    const auto call = [&](const AttentionOutputs& outputs) {
      if (done) done = contender.backend->run(in, outputs, Quality::Exact);
    };
    for (size_t i = 0; i < all.size(); i += 2) {
      call(all[i]);
      session.tools->on_other_stream([&] { call(all[i + 1]); });
    }
    TESSERA_TRY_OK(done);
    session.tools->synchronize();
    for (const AttentionOutputs& outputs : all) {
      TESSERA_TRY_OK(expect(relative_error(outputs.out, want) <= 1e-6, "calls disturb each other"));
    }
    return {};
  });
}

std::unique_ptr<AttentionEngine> strict_engine(const Session& session, BackendId id) {
  EngineOptions options;
  options.device = session.profile;
  options.selections.base.server = choose(id);
  BackendMap backends;
  backends.emplace(id, make_backend(id));
  return std::make_unique<AttentionEngine>(std::move(options), std::move(backends));
}

/// A graph of one engine call, replayed on new data.
void check_graph(Session& session, const Contender& contender, const Case& c) {
  session.check("graph", contender.name, c.name, [&](OrderedJson&) -> Status {
    const AttentionInputs in = inputs_of(session, c);
    const auto engine = strict_engine(session, contender.id);
    const AttentionOutputs outputs = allocate_outputs(in, false);
    TESSERA_TRY_OK(engine->run_into(in, kSite, outputs));
    Status captured;
    const Work replay = session.tools->capture([&] { captured = engine->run_into(in, kSite, outputs); });
    TESSERA_TRY_OK(captured);
    copy_into(in, inputs_of(session, c));
    TESSERA_TRY(const at::Tensor want, answer(session, contender, in));
    for (int i = 0; i < 2; ++i) {
      outputs.out.zero_();
      session.tools->synchronize();
      replay();
      TESSERA_TRY_OK(expect(relative_error(outputs.out, want) <= 1e-6, "the graph's answer differs"));
    }
    return {};
  });
}

/// A first call inside of a capture must be told so, and the capture must survive it.
void check_early_capture(Session& session, const Contender& contender) {
  if (!session.tools->captures_for_real()) return;
  session.check("graph", contender.name, "a first call inside of a capture", [&](OrderedJson&) -> Status {
    const AttentionInputs in = inputs_of(session, kCases[0]);
    if (!session.verdict(contender, in, false).accepted()) return fail(ErrorCode::Unsupported, "by policy");
    const auto engine = strict_engine(session, contender.id);
    const AttentionOutputs outputs = allocate_outputs(in, false);
    Status early;
    const Work replay = session.tools->capture([&] {
      outputs.out.zero_();
      early = engine->run_into(in, kSite, outputs);
    });
    replay();
    TESSERA_TRY_OK(
        expect(!early && early.error().code == ErrorCode::Misuse, early ? "it was not noticed" : early.error().line()));
    return engine->run_into(in, kSite, outputs);
  });
}

/// Threads with streams of their own share one backend with its plans.
void check_threads(Session& session, const Contender& contender, const Case& c) {
  session.check("threads", contender.name, c.name, [&](OrderedJson&) -> Status {
    const AttentionInputs in = inputs_of(session, c);
    TESSERA_TRY(const at::Tensor want, answer(session, contender, in));
    std::vector<Status> done(4);
    std::vector<AttentionOutputs> outputs;
    for (size_t t = 0; t < done.size(); ++t) outputs.push_back(allocate_outputs(in, false));
    session.tools->synchronize();
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < done.size(); ++t) {
      threads.emplace_back([&, t] {
        session.tools->on_other_stream([&] {
          for (int i = 0; i < 10 && done[t]; ++i) done[t] = contender.backend->run(in, outputs[t], Quality::Exact);
        });
      });
    }
    threads.clear();
    session.tools->synchronize();
    for (size_t t = 0; t < done.size(); ++t) {
      TESSERA_TRY_OK(done[t]);
      TESSERA_TRY_OK(expect(relative_error(outputs[t].out, want) <= 1e-6, "threads disturb each other"));
    }
    return {};
  });
}

}  // namespace

void check_streams(Session& session) {
  for (const Contender& contender : contenders(session)) {
    for (const Case& c : kCases) {
      check_order(session, contender, c);
      check_reuse(session, contender, c);
      check_threads(session, contender, c);
      if (contender.name == backend_name(contender.id)) check_graph(session, contender, c);
    }
    if (contender.name == backend_name(contender.id)) check_early_capture(session, contender);
  }
}

}  // namespace tessera::gpu_check
