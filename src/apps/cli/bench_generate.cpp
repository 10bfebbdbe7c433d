// `tessera bench generate`: the stages of whole requests, one setting or two in turns.
#include <iomanip>
#include <iostream>
#include <memory>

#include "apps/cli/bench_settings.h"
#include "apps/cli/commands.h"
#include "apps/cli/generate_flags.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/version.h"
#include "base/json.h"
#include "base/strings.h"
#include "bench_support/machine.h"
#include "bench_support/statistics.h"
#include "kernels/attention.h"
#include "runtime/generator.h"

namespace tessera::cli {
namespace {

using bench_support::Statistics;
using runtime::Generated;
using runtime::Generator;

struct Options {
  GenerateFlags flags;
  std::string against;
  int runs = 5;
};

/// Seconds of each stage, one entry a run (denoise_step: one a step).
using Stages = std::vector<std::pair<std::string, std::vector<double>>>;

/// One setting under test.
struct Contender {
  std::string name;
  runtime::RuntimeOptions options;
  Generator generator;
  pipeline::GenerateRequest request;
  Stages stages = {{"load", {}}, {"encode", {}}, {"denoise_step", {}}, {"decode", {}}, {"total", {}}};
};

void note(const Generated& made, Stages& stages) {
  const std::vector<double> seen[] = {
      {made.timings.load}, {made.timings.encode}, made.timings.denoise, {made.timings.decode}, {made.total_seconds}};
  for (size_t i = 0; i < stages.size(); ++i) {
    stages[i].second.insert(stages[i].second.end(), seen[i].begin(), seen[i].end());
  }
}

Status open_contender(std::string name, const runtime::RuntimeOptions& options,
                      const pipeline::GenerateRequest& request, std::vector<Contender>& out) {
  TESSERA_TRY(Generator generator, Generator::open(options));
  TESSERA_TRY(pipeline::GenerateRequest full, generator.complete(request));
  out.push_back({std::move(name), options, std::move(generator), std::move(full)});
  return {};
}

OrderedJson settings_json(const runtime::RuntimeOptions& o) {
  return {{"model", o.model},
          {"dtype", o.dtype},
          {"quality", o.quality},
          {"attention_backend", o.attention_backend},
          {"attention_canary", o.attention_canary}};
}

OrderedJson to_json(const Contender& c) {
  OrderedJson stages = OrderedJson::object();
  for (const auto& [name, values] : c.stages) {
    if (values.empty()) continue;
    const Statistics s = bench_support::statistics_of(values);
    stages[name] = {{"median", s.median}, {"p95", s.p95}, {"min", s.min}};
  }
  return {{"settings", settings_json(c.options)}, {"seconds", std::move(stages)}};
}

/// How many times as long the first takes: median by median, of the stages that take measurable time.
OrderedJson ratio_json(const OrderedJson& a, const OrderedJson& b) {
  OrderedJson out = OrderedJson::object();
  for (const auto& [stage, seconds] : a["seconds"].items()) {
    const double other = b["seconds"].contains(stage) ? b["seconds"][stage]["median"].get<double>() : 0.0;
    if (other > 0) out[stage] = seconds["median"].get<double>() / other;
  }
  return out;
}

void print_rows(const OrderedJson& out) {
  for (const char* name : {"a", "b"}) {
    if (!out.contains(name)) continue;
    for (const auto& [stage, s] : out[name]["seconds"].items()) {
      std::cout << name << "  " << std::left << std::setw(14) << stage << std::right << std::fixed
                << std::setprecision(4) << std::setw(10) << s["median"].get<double>() << " s median" << std::setw(10)
                << s["min"].get<double>() << " s min\n";
    }
  }
  if (!out.contains("a_over_b")) return;
  for (const auto& [stage, ratio] : out["a_over_b"].items()) {
    std::cout << "a/b  " << std::left << std::setw(14) << stage << std::right << std::fixed << std::setprecision(3)
              << ratio.get<double>() << "\n";
  }
}

/// The first round warms up and does not count.
Status measure(std::vector<Contender>& contenders, int runs) {
  const InterruptScope interrupt;
  for (int run = 0; run <= runs; ++run) {
    for (Contender& c : contenders) {
      TESSERA_TRY(const Generated made, c.generator.run(c.request, {.cancelled = &interrupt.flag()}));
      if (run > 0) note(made, c.stages);
    }
  }
  return {};
}

Status run(const Options& options, const SharedOptions& shared, const CLI::App& command) {
  if (options.runs < 1) return fail(ErrorCode::Usage, strings::join("--runs ", options.runs), "at least 1");
  TESSERA_TRY(runtime::Recipe recipe, requested(options.flags, shared, command));
  TESSERA_TRY_OK(read_image(options.flags.image, recipe.request));
  std::vector<Contender> contenders;
  TESSERA_TRY_OK(open_contender("a", recipe.options, recipe.request, contenders));
  if (!options.against.empty()) {
    TESSERA_TRY(const runtime::RuntimeOptions other, lay_over(options.against, recipe.options));
    TESSERA_TRY_OK(open_contender("b", other, recipe.request, contenders));
  }
  TESSERA_TRY(const kernels::Isa isa, kernels::active_isa());
  TESSERA_TRY_OK(measure(contenders, options.runs));
  OrderedJson out = {{"machine", bench_support::machine_json(isa, at::get_num_threads())},
                     {"versions", bench_support::versions_json(TESSERA_VERSION)},
                     {"runs", options.runs}};
  for (const Contender& c : contenders) out[c.name] = to_json(c);
  if (contenders.size() == 2) out["a_over_b"] = ratio_json(out["a"], out["b"]);
  if (shared.json) {
    std::cout << out.dump(2) << "\n";
  } else {
    print_rows(out);
  }
  return {};
}

}  // namespace

Command add_bench_generate(CLI::App& app, SharedOptions& shared) {
  CLI::App* command =
      bench_group(app).add_subcommand("generate", "the stages of whole requests, one setting or two in turns");
  const auto options = std::make_shared<Options>();
  add_request_flags(*command, options->flags);
  command->add_option("--against", options->against, "a second setting in turns: KEY=VALUE,… that differ");
  command->add_option("--runs", options->runs, "requests of each setting, after one that warms up")
      ->capture_default_str();
  add_shared_flags(*command, shared);
  return {command, [options, command, &shared] { return run(*options, shared, *command); }};
}

}  // namespace tessera::cli
