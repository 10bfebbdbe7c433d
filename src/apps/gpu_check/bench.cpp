// Interleaved timings on the reference's shapes, and what the rule table loses against the measured best.
#include <iomanip>
#include <iostream>

#include "apps/gpu_check/named.h"
#include "apps/gpu_check/session.h"
#include "attention/engine.h"
#include "attention/policy/catalog.h"
#include "attention/policy/resolver.h"
#include "attention/signature.h"
#include "base/strings.h"
#include "bench_support/regret.h"
#include "bench_support/statistics.h"

namespace tessera::gpu_check {
namespace {

using namespace attention;
using bench_support::Regret;
using bench_support::Timing;

// A round lasts at least this long, so that launches do not decide it; a shape takes at most so long in all.
constexpr double kRoundSeconds = 2e-3;
constexpr double kShapeSeconds = 25;
constexpr int kFewestRounds = 5;

struct Entry {
  std::string name;
  std::function<Status()> call;
  int64_t calls = 1;
  std::vector<double> seconds;
};

Result<double> time_calls(Session& session, Entry& entry) {
  Status done;
  const double seconds = session.tools->seconds([&] {
    for (int64_t i = 0; i < entry.calls && done; ++i) done = entry.call();
  });
  if (!done) return fail(done.error());
  return seconds / static_cast<double>(entry.calls);
}

/// Warms up; a contender that does not serve the shape is left out, with a row that says why.
std::vector<Entry> warmed_up(Session& session, std::string_view shape, std::vector<Entry> entries) {
  std::vector<Entry> ready;
  for (Entry& entry : entries) {
    session.check("bench", entry.name, shape, [&](OrderedJson&) -> Status {
      TESSERA_TRY_OK(entry.call());
      session.tools->synchronize();
      TESSERA_TRY(const double once, time_calls(session, entry));
      entry.calls = std::max<int64_t>(1, static_cast<int64_t>(kRoundSeconds / std::max(once, 1e-6)));
      ready.push_back(std::move(entry));
      return {};
    });
  }
  return ready;
}

/// Every contender once a round, so that clocks and temperature are the same for all.
void measure(Session& session, std::vector<Entry>& entries) {
  double total = 0;
  for (int round = 0; round < session.rounds; ++round) {
    if ((total > kShapeSeconds && round >= kFewestRounds) || session.out_of_time()) return;
    for (Entry& entry : entries) {
      const auto seconds = time_calls(session, entry);
      if (!seconds) continue;
      entry.seconds.push_back(*seconds);
      total += *seconds * static_cast<double>(entry.calls);
    }
  }
}

std::unique_ptr<AttentionEngine> dynamic_engine(const Session& session) {
  EngineOptions options;
  options.device = session.profile;
  if (!session.dry()) options.selections.base.server = choose_dynamic(Demand::Prefer);
  options.canary = CanaryMode::First;
  return make_engine(std::move(options));
}

std::vector<Entry> entries_of(const Session& session, const std::vector<Contender>& all, AttentionEngine& engine,
                              const AttentionInputs& in, const AttentionOutputs& outputs) {
  std::vector<Entry> entries;
  for (const Contender& c : all) {
    if (!session.verdict(c, in, false).accepted()) continue;
    entries.push_back({c.name, [&c, &in, &outputs] { return c.backend->run(in, outputs, Quality::Exact); }, 1, {}});
  }
  entries.push_back({"dynamic", [&] { return engine.run_into(in, {"transformer", Role::Self}, outputs); }, 1, {}});
  return entries;
}

/// What a selection takes for a problem on this device.
std::string chosen(const Session& session, const AttentionInputs& in, const std::optional<Choice>& choice) {
  Selection selection;
  selection.server = choice;
  const Decision decision = resolve(problem_of(in, Role::Self, false, /*aligned=*/true), selection, session.profile);
  return decision.ok() ? std::string(backend_name(decision.first())) : "none";
}

OrderedJson row_of(const Session& session, const NamedShape& shape, const Entry& entry) {
  const auto s = bench_support::statistics_of(entry.seconds);
  const double keys = static_cast<double>(shape.key_length > 0 ? shape.key_length : shape.seq_kv);
  const double flops = 4.0 * static_cast<double>(shape.batch * shape.heads_q * shape.seq_q * shape.head_dim) * keys;
  std::cout << std::left << std::setw(20) << shape.name << std::setw(30) << entry.name << std::right << std::fixed
            << std::setprecision(4) << std::setw(12) << s.median * 1e3 << " ms" << std::setprecision(1) << std::setw(10)
            << flops / s.median * 1e-12 << " TFLOP/s" << std::endl;
  return {{"shape", session.dry() ? strings::join(shape.name, " cut") : std::string(shape.name)},
          {"backend", entry.name},
          {"dtype", "bf16"},
          {"median_ms", s.median * 1e3},
          {"p95_ms", s.p95 * 1e3},
          {"min_ms", s.min * 1e3},
          {"rounds", entry.seconds.size()},
          {"calls_per_round", entry.calls},
          {"tflops", flops / s.median * 1e-12}};
}

/// The engine's own row is no choice of its own: its overhead is told apart.
std::vector<Timing> choices(const std::vector<Entry>& entries) {
  std::vector<Timing> timings;
  for (const Entry& entry : entries) {
    if (entry.name == "dynamic" || entry.name.find(' ') != std::string::npos || entry.seconds.empty()) continue;
    timings.push_back({entry.name, bench_support::statistics_of(entry.seconds).median});
  }
  return timings;
}

OrderedJson json_of(std::string_view shape, const Regret& r) {
  OrderedJson json = {{"shape", shape}, {"best", r.best}, {"chosen", r.chosen}};
  json["loss"] = r.loss ? OrderedJson(*r.loss) : OrderedJson(nullptr);
  return json;
}

}  // namespace

void run_bench(Session& session, OrderedJson& out) {
  const auto all = contenders(session);
  const auto engine = dynamic_engine(session);
  const std::pair<const char*, std::optional<Choice>> policies[] = {{"dynamic_cudnn_sdpa", choose_dynamic()},
                                                                    {"auto", std::nullopt}};
  std::map<std::string, std::vector<Regret>> regrets;
  out["bench"] = OrderedJson::array();
  out["regret"] = OrderedJson::object();
  for (const NamedShape& shape : benched_shapes(session)) {
    const NamedInputs named(session, shape, at::kBFloat16);
    const AttentionInputs& in = named.inputs();
    const AttentionOutputs outputs = allocate_outputs(in, false);
    auto entries = warmed_up(session, shape.name, entries_of(session, all, *engine, in, outputs));
    measure(session, entries);
    for (const Entry& entry : entries) {
      if (!entry.seconds.empty()) out["bench"].push_back(row_of(session, shape, entry));
    }
    const auto timings = choices(entries);
    if (timings.empty()) continue;
    for (const auto& [name, choice] : policies) {
      const Regret r = bench_support::regret_of(chosen(session, in, choice), timings);
      out["regret"][name]["shapes"].push_back(json_of(shape.name, r));
      regrets[name].push_back(r);
    }
  }
  for (const auto& [name, rows] : regrets) out["regret"][name]["summary"] = bench_support::summary_of(rows);
}

}  // namespace tessera::gpu_check
