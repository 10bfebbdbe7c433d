#include "apps/golden_check/attention.h"

#include "apps/golden_check/attention_case.h"
#include "attention/backends/factory.h"
#include "attention/guard.h"
#include "attention/policy/catalog.h"
#include "attention/signature.h"
#include "base/strings.h"

namespace tessera::golden {
namespace {

namespace fs = std::filesystem;
using attention::BackendId;
using attention::Quality;

/// One way to run a problem.
struct Way {
  BackendId backend;
  Quality tier;
  kernels::Isa isa;

  std::string name() const {
    return strings::join(attention::backend_name(backend), "/", attention::quality_name(tier), "/",
                         kernels::isa_name(isa));
  }
};

platform::DeviceProfile this_cpu() {
  platform::DeviceProfile device;
  device.kind = platform::DeviceKind::Cpu;
  device.built = attention::built_backend_names();
  for (const auto isa : kernels::available_isas()) device.isa.emplace(kernels::isa_name(isa));
  return device;
}

/// Largest difference, infinite when NaN and infinities do not stand at the same places.
double max_difference(const at::Tensor& got, const at::Tensor& want) {
  const at::Tensor same = (got == want).logical_or(at::isnan(got).logical_and(at::isnan(want)));
  const at::Tensor difference = (got - want).abs().masked_fill(same, 0.0);
  if (difference.numel() == 0) return 0;
  const double largest = difference.max().item<double>();
  return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
}

/// sum |got - want| / sum |want|; the plain sum when everything wanted is 0.
double l1_relative(const at::Tensor& got, const at::Tensor& want) {
  const double total = want.abs().sum().item<double>();
  const double difference = (got - want).abs().sum().item<double>();
  return total > 0 ? difference / total : difference;
}

void judge_exact(const AttentionCase& want, const attention::AttentionOutputs& got, const std::string& name,
                 GoldenReport& report) {
  const double out = max_difference(got.out.to(at::kDouble), want.out);
  const double lse = want.lse.defined() ? max_difference(got.lse.to(at::kDouble), want.lse) : 0;
  report.count(out <= want.out_tolerance && lse <= want.lse_tolerance, name, "max abs difference of out and lse",
               strings::join(out, " and ", lse), strings::join("<= ", want.out_tolerance, " and ", want.lse_tolerance));
}

void judge_approximate(const AttentionCase& want, const attention::AttentionOutputs& got, double bound,
                       const std::string& name, GoldenReport& report) {
  const double out = l1_relative(got.out.to(at::kDouble), want.out);
  const bool finite = at::isfinite(got.out).all().item<bool>();
  const bool same_dead = !want.lse.defined() || at::isfinite(got.lse).equal(at::isfinite(want.lse));
  report.count(finite && same_dead && out <= bound, name, "L1-relative difference of out", strings::join(out),
               strings::join("<= ", bound));
}

void run_way(const AttentionCase& want, const Way& way, GoldenReport& report) {
  const std::string name = want.name + " " + way.name();
  const auto backend = attention::make_backend(way.backend, way.isa);
  const auto outputs = attention::allocate_outputs(want.inputs, true);
  outputs.out.fill_(std::numeric_limits<double>::quiet_NaN());
  outputs.lse.fill_(std::numeric_limits<double>::quiet_NaN());
  const Status done = attention::guarded(name, [&]() -> Status {
    if (!attention::is_empty(attention::sizes_of(want.inputs))) return backend->run(want.inputs, outputs, way.tier);
    attention::fill_empty(outputs);
    return {};
  });
  if (!done) {
    report.count(false, name, "run", done.error().line(), "an answer");
    return;
  }
  const double bound = attention::error_bound(way.backend, way.tier);
  if (bound > 0) return judge_approximate(want, outputs, bound, name, report);
  judge_exact(want, outputs, name, report);
}

void run_everywhere(const AttentionCase& want, const platform::DeviceProfile& device, GoldenReport& report) {
  const auto problem = attention::problem_of(want.inputs, want.role, true, /*aligned=*/true);
  for (const BackendId id : attention::built_backends()) {
    const attention::Verdict verdict = attention::accepts(id, problem, device);
    if (!verdict.accepted()) {
      ++report.skipped[strings::join(attention::backend_name(id), ": ", attention::reason_name(*verdict.reason), ": ",
                                     verdict.text)];
      continue;
    }
    for (const auto& tier : attention::info(id).bounds) {
      for (const auto isa : attention::isa_paths(id)) run_way(want, {id, tier.tier, isa}, report);
    }
  }
}

}  // namespace

bool is_attention(const fs::path& folder) {
  std::error_code ec;
  if (!fs::is_regular_file(folder / "index.json", ec)) return false;
  const auto index = json::read_file(folder / "index.json");
  if (!index || !index->is_object() || !index->contains("cases") || !(*index)["cases"].is_array()) return false;
  const Json& cases = (*index)["cases"];
  const auto is_ours = [](const Json& c) { return c.is_object() && c.contains("views") && c.contains("file"); };
  return !cases.empty() && std::all_of(cases.begin(), cases.end(), is_ours);
}

GoldenReport check_attention(const fs::path& folder) {
  GoldenReport report;
  const Json index = json::read_file(folder / "index.json").value();
  const platform::DeviceProfile device = this_cpu();
  for (const Json& row : index.at("cases")) {
    const auto want = load_attention_case(folder, row);
    if (!want) {
      report.count(false, row.value("name", "?"), "load", want.error().line(), "a readable case");
      continue;
    }
    run_everywhere(**want, device, report);
  }
  return report;
}

}  // namespace tessera::golden
