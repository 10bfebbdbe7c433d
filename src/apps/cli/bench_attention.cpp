// `tessera bench attention`: our attention kernels and PyTorch's side by side on named problems.
#include <iomanip>
#include <iostream>
#include <memory>

#include "apps/cli/commands.h"
#include "apps/cli/version.h"
#include "base/json.h"
#include "base/strings.h"
#include "bench_support/attention_bench.h"
#include "bench_support/attention_shapes.h"
#include "bench_support/machine.h"

namespace tessera::cli {
namespace {

using namespace bench_support;

struct Options {
  std::string shapes = std::string(kDefaultShapes);
  std::string backends = "cpu_flash,cpu_sage,torch_sdpa";
  std::string tier = "all";
  int runs = 20;
};

/// What every result is printed with.
struct Session {
  at::ScalarType dtype = at::kFloat;
  std::string dtype_text;
  kernels::Isa isa = kernels::Isa::Auto;
  Peaks peaks;
};

OrderedJson to_json(const Session& session, const AttentionShape& shape, const Measurement& m) {
  const double gflops = shape.flops() / m.seconds.median * 1e-9;
  const double peak = session.peaks.of(m.contender.tier);
  return {{"shape", shape.name},
          {"backend", m.contender.backend},
          {"dtype", session.dtype_text},
          {"tier", tier_name(m.contender.tier)},
          {"median_ms", m.seconds.median * 1e3},
          {"p95_ms", m.seconds.p95 * 1e3},
          {"min_ms", m.seconds.min * 1e3},
          {"gflops", gflops},
          {"share_of_peak", peak > 0 ? gflops / peak : 0.0},
          {"max_abs_error", m.max_abs_error}};
}

void print_row(const OrderedJson& r) {
  std::cout << std::left << std::setw(18) << r["shape"].get<std::string>() << std::setw(12)
            << r["backend"].get<std::string>() << std::setw(7) << r["tier"].get<std::string>() << std::right
            << std::fixed << std::setprecision(3) << std::setw(11) << r["median_ms"].get<double>() << " ms"
            << std::setw(11) << r["min_ms"].get<double>() << " min" << std::setprecision(1) << std::setw(9)
            << r["gflops"].get<double>() << " GFLOP/s" << std::setw(7) << r["share_of_peak"].get<double>() * 100 << " %"
            << std::scientific << std::setprecision(1) << std::setw(10) << r["max_abs_error"].get<double>() << "\n"
            << std::defaultfloat;
}

Result<at::ScalarType> dtype_of(const std::string& name) {
  if (name == "auto" || name == "fp32") return at::kFloat;
  if (name == "bf16") return at::kBFloat16;
  if (name == "fp16") return at::kHalf;
  return fail(ErrorCode::Usage, "--dtype " + name + " is not known", "one of fp32, bf16, fp16");
}

Status measure_shape(const Session& session, const AttentionShape& shape, const std::vector<Contender>& contenders,
                     int runs, OrderedJson& out, bool json) {
  const int64_t needed = tensors_bytes(shape, session.dtype);
  if (needed > available_memory_bytes()) {
    for (const Contender& c : contenders) {
      out["refused"].push_back({{"shape", shape.name},
                                {"backend", c.backend},
                                {"tier", tier_name(c.tier)},
                                {"reason", strings::join("needs ", needed >> 20, " MiB of memory")}});
    }
    return {};
  }
  const AttentionTensors tensors = make_tensors(shape, session.dtype);
  TESSERA_TRY(const std::vector<Measurement> results, measure(tensors, contenders, runs));
  for (const Measurement& m : results) {
    out["results"].push_back(to_json(session, shape, m));
    if (!json) print_row(out["results"].back());
  }
  return {};
}

Status run(const Options& options, const SharedOptions& shared) {
  if (options.runs < 1) return fail(ErrorCode::Usage, strings::join("--runs ", options.runs), "at least 1");
  TESSERA_TRY(const std::vector<AttentionShape> shapes, parse_shapes(options.shapes));
  std::vector<Refusal> refused;
  TESSERA_TRY(const std::vector<Contender> contenders, parse_contenders(options.backends, options.tier, refused));
  Session session;
  TESSERA_TRY(session.dtype, dtype_of(shared.dtype));
  session.dtype_text = shared.dtype == "auto" ? "fp32" : shared.dtype;
  TESSERA_TRY(session.isa, kernels::active_isa());
  if (shared.threads > 0) at::set_num_threads(shared.threads);
  session.peaks = measure_peaks(session.isa, at::get_num_threads());
  OrderedJson out = {{"machine", machine_json(session.isa, at::get_num_threads(), session.peaks)},
                     {"versions", versions_json(TESSERA_VERSION)},
                     {"results", OrderedJson::array()},
                     {"refused", OrderedJson::array()}};
  for (const AttentionShape& shape : shapes) {
    for (const Refusal& r : refused) {
      out["refused"].push_back({{"shape", shape.name}, {"backend", r.backend}, {"tier", r.tier}, {"reason", r.reason}});
    }
    TESSERA_TRY_OK(measure_shape(session, shape, contenders, options.runs, out, shared.json));
  }
  if (shared.json) std::cout << out.dump(2) << "\n";
  return {};
}

}  // namespace

Command add_bench_attention(CLI::App& app, SharedOptions& shared) {
  CLI::App* command = bench_group(app).add_subcommand("attention", "attention kernels side by side on named problems");
  const auto options = std::make_shared<Options>();
  command->add_option("--shapes", options->shapes, "names, separated by commas")->capture_default_str();
  command->add_option("--backends", options->backends, "cpu_flash, cpu_sage, torch_sdpa")->capture_default_str();
  command->add_option("--tier", options->tier, "which arithmetic")
      ->check(CLI::IsMember({"exact", "high", "fast", "all"}))
      ->capture_default_str();
  command->add_option("--runs", options->runs, "rounds; a round of a short problem is several calls")
      ->capture_default_str();
  add_shared_flags(*command, shared);
  return {command, [options, &shared] { return run(*options, shared); }};
}

}  // namespace tessera::cli
