// The path of one call, and what is remembered between calls.
#include "attention/engine.h"

#include <bit>

#include "attention/backends/factory.h"
#include "attention/guard.h"
#include "attention/policy/catalog.h"
#include "attention/signature.h"
#include "base/log.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

/// What is left to say when every candidate of a decision has failed, now or before.
Error exhausted(const Plan& plan) {
  std::vector<std::string> reasons;
  ErrorCode code = ErrorCode::Unsupported;
  for (const auto& candidate : plan.candidates) {
    const std::string_view name = backend_name(candidate.choice.backend);
    if (candidate.slot->quarantined.load()) {
      code = ErrorCode::NumericalFault;
      reasons.push_back(strings::join(name, " ", candidate.slot->quarantine_reason));
    } else if (candidate.latched.load()) {
      reasons.push_back(candidate.latch_reason);
    }
  }
  const std::string who = plan.decision.strict ? strings::join("attention backend ", plan.decision.selected,
                                                               " was asked for and cannot serve ")
                                               : std::string("no attention backend is left for ");
  return {code, strings::join(who, plan.component, " ", describe(plan.problem), ": ", strings::list(reasons, "; ")),
          "use --attention-backend auto, or prefer:NAME instead of a strict choice"};
}

/// What the next candidate may make good. Nothing else: memory that is exhausted, or a device that failed, would be
/// hidden, and the next backend would meet the same.
bool excludes_backend(ErrorCode code) {
  return code == ErrorCode::Unsupported || code == ErrorCode::NumericalFault;
}

/// What calls must share, beside their facts, for a kernel to treat them alike: lengths and the role it does not look
/// at.
AttentionProblem kind_of(AttentionProblem problem) {
  problem.key_lengths.clear();
  problem.role = Role::Self;
  problem.varlen_bounds.clear();
  problem.varlen_bounds_kv.clear();
  return problem;
}

/// What a layer and a ForceScope say, as one number of the key.
int64_t layer_code(const CallSite& site, uint64_t forced) {
  return static_cast<int64_t>(forced << 40 | code_of(site.pin) << 20 | code_of(site.layer_default));
}

}  // namespace

AttentionEngine::AttentionEngine(EngineOptions options, BackendMap backends) : options_(std::move(options)) {
  options_.device.built.clear();
  for (auto& [id, backend] : backends) {
    options_.device.built.emplace(backend_name(id));
    BackendSlot& slot = slots_[id];
    slot.id = id;
    slot.backend = with_faults(id, std::move(backend), options_.injections);
  }
  if (options_.canary == CanaryMode::Default && !options_.injections.empty()) options_.canary = CanaryMode::Always;
}

Result<AttentionOutputs> AttentionEngine::run(const AttentionInputs& inputs, const CallSite& site, bool needs_lse) {
  TESSERA_TRY_OK(validate(inputs));
  AttentionOutputs outputs;
  TESSERA_TRY_OK(guarded("attention", [&]() -> Status {
    outputs = allocate_outputs(inputs, needs_lse);
    return {};
  }));
  TESSERA_TRY_OK(run_checked(inputs, site, outputs));
  return outputs;
}

Status AttentionEngine::run_into(const AttentionInputs& inputs, const CallSite& site, const AttentionOutputs& outputs) {
  TESSERA_TRY_OK(validate(inputs));
  return run_checked(inputs, site, outputs);
}

Status AttentionEngine::run_checked(const AttentionInputs& inputs, const CallSite& site,
                                    const AttentionOutputs& outputs) {
  if (is_empty(sizes_of(inputs))) {
    fill_empty(outputs);
    return {};
  }
  return run_plan(plan_for(inputs, site, outputs.lse.defined()), inputs, outputs);
}

Plan& AttentionEngine::plan_for(const AttentionInputs& inputs, const CallSite& site, bool needs_lse) {
  const CallFacts facts = facts_of(inputs, options_.device.is_cuda());
  {
    const std::shared_lock lock(mutex_);
    if (const auto component = component_index(site.component)) {
      const uint64_t forced = options_.overrides == nullptr ? 0 : options_.overrides->forced_code();
      const CallPlace place{*component, layer_code(site, forced), site.role, needs_lse, facts};
      const auto found = plans_.find(call_key(inputs, place));
      if (found != plans_.end()) return *found->second;
    }
  }
  const std::unique_lock lock(mutex_);
  return make_plan(inputs, site, needs_lse, facts);
}

std::optional<int64_t> AttentionEngine::component_index(std::string_view component) const {
  for (size_t i = 0; i < components_.size(); ++i) {
    if (components_[i] == component) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

Selection AttentionEngine::selection_for(const CallSite& site) const {
  Selection selection = options_.selections.at(site.component, site.role);
  if (site.pin) selection.layer_pin = site.pin;
  if (site.layer_default) selection.layer_default = site.layer_default;
  if (options_.overrides != nullptr) selection.forced = options_.overrides->forced();
  return selection;
}

Plan& AttentionEngine::make_plan(const AttentionInputs& inputs, const CallSite& site, bool needs_lse,
                                 const CallFacts& facts) {
  if (!component_index(site.component)) components_.emplace_back(site.component);
  const Selection selection = selection_for(site);
  // The key is made of the very choice that is decided on: a ForceScope may end in between.
  const int64_t layer = layer_code(site, code_of(selection.forced));
  const CallKey key = call_key(inputs, {*component_index(site.component), layer, site.role, needs_lse, facts});
  std::unique_ptr<Plan>& plan = plans_[key];
  if (plan != nullptr) return *plan;  // another thread was faster
  plan = std::make_unique<Plan>();
  plan->component = site.component;
  plan->problem = problem_of(inputs, site.role, needs_lse, facts.aligned);
  plan->facts = facts;
  plan->selection = selection;
  plan->decision = resolve(plan->problem, plan->selection, options_.device, past_failures(*plan));
  add_candidates(*plan);
  in_order_.push_back(plan.get());
  const SiteReport report = report_of(*plan);
  log::info(strings::join("attention: ", report.site, " ", describe(plan->problem), ": ",
                          report.backend.empty() ? "no backend" : report.backend, " (", report.origin,
                          report.evidence.empty() ? "" : ": ", report.evidence, ")"));
  for (const std::string& warning : plan->decision.warnings) log::warning(strings::join("attention: ", warning));
  return *plan;
}

void AttentionEngine::add_candidates(Plan& plan) {
  for (const auto& choice : plan.decision.candidates) {
    const auto slot = slots_.find(choice.backend);
    if (slot == slots_.end()) {  // only with a simulated device, whose libraries count as built
      plan.decision.refused.push_back({choice.backend, Reason::NotBuilt, "is not in this build"});
      continue;
    }
    PlanCandidate& candidate = plan.candidates.emplace_back();
    candidate.choice = choice;
    candidate.slot = &slot->second;
  }
}

std::vector<PastFailure> AttentionEngine::past_failures(const Plan& fresh) const {
  std::vector<PastFailure> past;
  for (const auto& [id, slot] : slots_) {
    if (slot.quarantined.load()) past.push_back({id, Reason::Quarantined, slot.quarantine_reason});
  }
  const AttentionProblem wanted = kind_of(fresh.problem);
  for (const Plan* plan : in_order_) {
    if (plan->facts != fresh.facts || kind_of(plan->problem) != wanted) continue;
    for (const auto& candidate : plan->candidates) {
      if (candidate.latched.load()) past.push_back({candidate.slot->id, Reason::FailedBefore, candidate.latch_reason});
    }
  }
  return past;
}

Status AttentionEngine::run_plan(Plan& plan, const AttentionInputs& inputs, const AttentionOutputs& outputs) {
  plan.calls.fetch_add(1, std::memory_order_relaxed);
  if (plan.decision.error) return fail(*plan.decision.error);
  if (options_.capturing(inputs.query)) return run_captured(plan, inputs, outputs);
  std::vector<std::string> news;  // logged when another backend serves the call; else the error says it all
  for (auto& candidate : plan.candidates) {
    if (!candidate.usable()) continue;
    const Status done = run_candidate(candidate, inputs, outputs);
    if (done) {
      candidate.served.fetch_add(1, std::memory_order_relaxed);
      for (const auto& line : news) log::warning(line);
      return {};
    }
    if (!excludes_backend(done.error().code)) return done;
    if (auto line = exclude(plan, candidate, done.error())) news.push_back(std::move(*line));
  }
  return fail(exhausted(plan));
}

Status AttentionEngine::run_candidate(PlanCandidate& candidate, const AttentionInputs& inputs,
                                      const AttentionOutputs& outputs) const {
  const BackendId id = candidate.choice.backend;
  const bool check = canary_wanted(options_.canary, id, candidate.proven.load(std::memory_order_relaxed));
  return guarded(backend_name(id), [&]() -> Status {
    if (check) poison(outputs);
    TESSERA_TRY_OK(candidate.slot->backend->run(inputs, outputs, candidate.choice.tier));
    if (!check) return {};
    TESSERA_TRY_OK(check_outputs(inputs, outputs, error_bound(id, candidate.choice.tier)));
    candidate.proven.store(true, std::memory_order_relaxed);
    return {};
  });
}

Status AttentionEngine::run_captured(Plan& plan, const AttentionInputs& inputs, const AttentionOutputs& outputs) const {
  for (auto& candidate : plan.candidates) {
    if (!candidate.usable()) continue;
    const BackendId id = candidate.choice.backend;
    if (candidate.served.load() == 0) {
      return not_in_capture(
          strings::join("the first ", backend_name(id), " call for ", plan.component, " ", describe(plan.problem)));
    }
    TESSERA_TRY_OK(guarded(backend_name(id),
                           [&] { return candidate.slot->backend->run(inputs, outputs, candidate.choice.tier); }));
    candidate.served.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  return fail(exhausted(plan));
}

std::optional<std::string> AttentionEngine::exclude(const Plan& plan, PlanCandidate& candidate, const Error& error) {
  const std::unique_lock lock(mutex_);
  const bool latches = error.code == ErrorCode::Unsupported;
  std::atomic<bool>& flag = latches ? candidate.latched : candidate.slot->quarantined;
  if (flag.load()) return std::nullopt;  // another thread was faster
  (latches ? candidate.latch_reason : candidate.slot->quarantine_reason) = error.what;
  flag.store(true, std::memory_order_release);
  return strings::join("attention: ", backend_name(candidate.slot->id),
                       latches ? " is not asked again for " : " is not used any more; it failed on ", plan.component,
                       " ", describe(plan.problem), ": ", error.what);
}

SiteReport AttentionEngine::report_of(const Plan& plan) const {
  SiteReport report;
  report.site = plan.component;
  report.problem = plan.problem;
  report.requested = plan.decision.selected;
  report.level = origin_name(plan.decision.origin);
  report.origin = asker_name(plan.decision.origin, plan.selection);
  report.refused = plan.decision.refused;
  report.calls = plan.calls.load();
  report.canary = "off";
  if (plan.decision.error) report.error = plan.decision.error->line();
  for (const auto& candidate : plan.candidates) {
    const BackendId id = candidate.choice.backend;
    if (candidate.slot->quarantined.load()) {
      report.refused.push_back({id, Reason::Quarantined, candidate.slot->quarantine_reason});
      report.canary = "failed";
    } else if (candidate.latched.load()) {
      report.refused.push_back({id, Reason::FailedBefore, candidate.latch_reason});
    } else if (report.backend.empty()) {
      report.backend = backend_name(id);
      report.tier = quality_name(candidate.choice.tier);
      report.evidence = candidate.choice.provenance;
      if (plan.decision.origin == Origin::Default) report.origin = origin_name(candidate.choice.origin);
      if (!plan.decision.notes.empty()) report.evidence = plan.decision.notes.front();
      if (!plan.decision.warnings.empty()) report.evidence = plan.decision.warnings.front();
      const bool checked = canary_wanted(options_.canary, id, false);
      if (checked && report.canary != "failed") report.canary = candidate.proven.load() ? "passed" : "pending";
    }
  }
  return report;
}

std::vector<SiteReport> AttentionEngine::report() const {
  const std::shared_lock lock(mutex_);
  std::vector<SiteReport> rows;
  for (const Plan* plan : in_order_) rows.push_back(report_of(*plan));
  return rows;
}

std::unique_ptr<AttentionEngine> make_engine(EngineOptions options) {
  add_process_backends(options.device);
  BackendMap backends;
  for (const BackendId id : built_backends()) backends.emplace(id, make_backend(id));
  return std::make_unique<AttentionEngine>(std::move(options), std::move(backends));
}

}  // namespace tessera::attention
