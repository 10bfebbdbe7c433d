#include "attention/policy/resolver.h"

#include <algorithm>

#include "attention/policy/asked.h"
#include "attention/policy/catalog.h"
#include "attention/policy/model_set.h"
#include "attention/policy/rules.h"
#include "base/strings.h"

namespace tessera::attention {
namespace {

using platform::DeviceProfile;

struct Step {
  Choice via;
  Origin origin = Origin::Default;
  std::string provenance;
  bool limited = true;  ///< the model's set of backends applies
  bool automatic = false;
};

/// Collects candidates and refusals in the order in which choices are tried.
class Walk {
 public:
  Walk(const AttentionProblem& problem, const Selection& selection, const DeviceProfile& device,
       const std::vector<PastFailure>& past)
      : problem_(problem), selection_(selection), device_(device), past_(past) {}

  /// Tries everything that the step's choice stands for.
  void take(const Step& step) {
    switch (step.via.kind) {
      case ChoiceKind::Auto:
        return take_automatic(step);
      case ChoiceKind::Backend:
        return take_row(step.via.backend, step);
      case ChoiceKind::AnyFa:
        return take_fa(step);
      case ChoiceKind::DynamicCudnn:
        return take_dynamic(step);
    }
  }

  /// The same, and while nothing was accepted, what stands in for it: sage_attn, then fa, then torch_sdpa. On CPUs
  /// nothing does: the automatic choice knows faster kernels than torch_sdpa there.
  void take_or_substitute(Step step) {
    const Choice first = step.via;
    for (std::size_t tried = refused.size();; tried = refused.size()) {
      take(step);
      if (!candidates.empty() || refused.size() == tried || device_.is_cpu()) return;
      const auto next = substitute_for(step.via, refused[tried].reason);
      if (!next) return;
      step.via = *next;
      step.provenance = strings::join("instead of ", choice_name(first));
    }
  }

  std::vector<Candidate> candidates;
  std::vector<Refusal> refused;
  std::vector<Attempt> attempts;

 private:
  bool known(BackendId id) const {
    return std::ranges::any_of(candidates, [&](const Candidate& c) { return c.backend == id; }) ||
           std::ranges::any_of(refused, [&](const Refusal& r) { return r.backend == id; });
  }

  std::optional<Refusal> refusal(BackendId id, const Step& step) const {
    const Verdict verdict = accepts(id, problem_, device_);
    if (!verdict.accepted()) return Refusal{id, *verdict.reason, verdict.text};
    for (const PastFailure& failure : past_) {
      if (failure.backend == id) return Refusal{id, failure.reason, failure.text};
    }
    if (step.limited && !model_allows(selection_.model_supports, step.via, id)) {
      return Refusal{id, Reason::NotInModelSet, "is not among the backends that the model lists; ask for it by name"};
    }
    if (step.automatic && !tier_for(id, selection_.quality)) {
      return Refusal{id, Reason::Approximate, "is approximate; ask for it by name or with --quality fast"};
    }
    return std::nullopt;
  }

  void take_row(BackendId id, const Step& step) {
    if (known(id)) return;
    auto no = refusal(id, step);
    attempts.push_back({id, step.via, no ? std::optional(no->reason) : std::nullopt});
    if (no) {
      refused.push_back(std::move(*no));
      return;
    }
    const Quality tier = tier_for(id, selection_.quality).value_or(info(id).bounds.front().tier);
    candidates.push_back({id, tier, step.origin, step.provenance, step.via});
  }

  void take_fa(const Step& step) {
    for (const BackendId id : {BackendId::Fa4, BackendId::Fa3, BackendId::Fa2}) take_row(id, step);
  }

  bool is_candidate(BackendId id) const {
    return std::ranges::any_of(candidates, [id](const Candidate& c) { return c.backend == id; });
  }

  /// Why the other side of a rule stands where it stands: behind the preferred one, or alone because that one refused.
  std::string second_place(const Rule& rule, std::size_t tried) const {
    const bool cudnn = rule.prefer == Preference::Cudnn;
    const bool served =
        cudnn ? is_candidate(BackendId::TorchCudnnSdpa)
              : is_candidate(BackendId::Fa4) || is_candidate(BackendId::Fa3) || is_candidate(BackendId::Fa2);
    const std::string_view first = cudnn ? "torch_cudnn_sdpa" : "fa";
    if (served) return strings::join("behind ", first, " by rule ", rule.id);
    const std::string why = refused.size() > tried ? strings::join(" (", refused[tried].text, ")") : std::string();
    return strings::join("rule ", rule.id, " prefers ", first, ", which cannot serve", why);
  }

  void take_dynamic(Step step) {
    const Rule& rule = dynamic_rule(problem_, device_);
    const std::string before = step.provenance.empty() ? "" : step.provenance + "; ";
    const std::size_t tried = refused.size();
    if (step.origin == Origin::Default) step.origin = Origin::Rule;
    step.provenance = strings::join(before, "rule ", rule.id, ": ", rule.evidence);
    if (rule.prefer == Preference::Cudnn) {
      take_row(BackendId::TorchCudnnSdpa, step);
      step.provenance = before + second_place(rule, tried);
      take_fa(step);
    } else {
      take_fa(step);
      step.provenance = before + second_place(rule, tried);
      take_row(BackendId::TorchCudnnSdpa, step);
    }
  }

  void take_cpu(const Step& step) {
    // Faster tiers first; exact rows are what is left when quality or an instruction set forbids them.
    for (const BackendId id : {BackendId::CpuSage, BackendId::CpuFlash, BackendId::TorchSdpa, BackendId::Reference}) {
      take_row(id, step);
    }
  }

  void take_automatic(Step step) {
    step.automatic = true;
    if (device_.is_cpu()) return take_cpu(step);
    if (device_.is_sm12x()) {
      step.provenance =
          "sm_12x has no FlashAttention kernels; torch SDPA is the default there (sgl-project/sglang#15342)";
      step.origin = Origin::Rule;
      take_row(BackendId::TorchSdpa, step);
      return;
    }
    if (dynamic_by_default(problem_, selection_, device_)) {
      step.via = choose_dynamic();
      take_dynamic(step);
    } else {
      step.via = choose_fa();
      take_fa(step);
    }
    step.via = choose(BackendId::TorchSdpa);
    take_row(BackendId::TorchSdpa, step);
  }

  const AttentionProblem& problem_;
  const Selection& selection_;
  const DeviceProfile& device_;
  const std::vector<PastFailure>& past_;
};

/// Everything that may serve, most wanted first: the choice, the layer's default, the automatic choice, the model's own
/// set by name; each with what stands in for it.
void walk_all(Walk& walk, const Asked& asked, const Selection& selection) {
  if (!asked.choice.is_auto()) {
    walk.take_or_substitute({asked.choice, asked.origin, asked.provenance, !asked.by_user, false});
  }
  if (selection.layer_default) {
    walk.take_or_substitute({*selection.layer_default, Origin::LayerDefault, "default of the layer", true, false});
  }
  if (asked.choice.is_auto() && selection.model_supports.size() == 1) {
    walk.take_or_substitute(
        {selection.model_supports.front(), Origin::Default, "the only backend that the model lists", true, false});
  }
  walk.take({Choice{}, Origin::Default, "", true, false});
  for (const Choice& member : sorted_by_name(selection.model_supports)) {
    walk.take_or_substitute({member, Origin::Default, "among the backends that the model lists", true, false});
  }
}

/// Adds every row that the walk did not meet, so that explain can account for each.
void account_for_the_rest(Decision& decision, const AttentionProblem& problem, const DeviceProfile& device) {
  const auto met = [&](BackendId id) {
    return std::ranges::any_of(decision.candidates, [&](const Candidate& c) { return c.backend == id; }) ||
           std::ranges::any_of(decision.refused, [&](const Refusal& r) { return r.backend == id; });
  };
  for (const BackendId id : all_backends()) {
    if (met(id)) continue;
    const Verdict verdict = accepts(id, problem, device);
    const bool approximate = !tier_for(id, Quality::Exact);
    const Reason reason = verdict.reason.value_or(approximate ? Reason::Approximate : Reason::NotChosen);
    decision.refused.push_back(
        {id, reason, verdict.accepted() ? "would run, but was not asked for; name it to use it" : verdict.text});
  }
}

bool is_availability(Reason reason) {
  switch (reason) {
    case Reason::NotBuilt:
    case Reason::NotInstalled:
    case Reason::NeedsCuda:
    case Reason::NeedsCpu:
    case Reason::NeedsOtherPlatform:
    case Reason::IsaMissing:
    case Reason::NeedsFlash:
    case Reason::BindingBroken:
      return true;
    default:
      return false;
  }
}

/// The refusal that an error speaks of: of the choice itself, or the first one that is not about the model's set.
const Refusal& cause_of(const std::vector<Refusal>& refused) {
  const auto it = std::ranges::find_if(refused, [](const Refusal& r) { return r.reason != Reason::NotInModelSet; });
  return it == refused.end() ? refused.front() : *it;
}

Error error_of(const Decision& d, const Asked& asked, const AttentionProblem& problem) {
  const Refusal& cause = *d.cause;
  const auto code = is_availability(cause.reason) ? ErrorCode::Unavailable : ErrorCode::Unsupported;
  std::string what = strings::join("attention backend ", choice_name(asked.choice), " (", asked.provenance,
                                   ") cannot run ", describe(problem), ": ", backend_name(cause.backend), " ",
                                   cause.text, " [", reason_name(cause.reason), "]");
  if (asked.choice.is_auto()) {
    what = strings::join("no attention backend can run ", describe(problem), ": ", backend_name(cause.backend), " ",
                         cause.text, " [", reason_name(cause.reason), "]");
  }
  std::string hint = "see tessera explain";
  if (!d.instead.empty()) {
    hint = strings::join("prefer:", choice_name(asked.choice), " would use ", backend_name(d.instead[0].backend));
  }
  return {code, std::move(what), std::move(hint)};
}

/// Fallbacks from something that was asked for: a warning where the library is faulty, else a note.
void report_fallback(Decision& d, const Asked& asked) {
  if (asked.choice.is_auto() || d.candidates.empty() || d.candidates[0].via == asked.choice || d.refused.empty())
    return;
  const Refusal& why = d.refused.front();
  std::string text = strings::join(choice_name(asked.choice), " was asked for (", asked.provenance, ") but ",
                                   backend_name(why.backend), " ", why.text, " [", reason_name(why.reason), "]; using ",
                                   backend_name(d.candidates[0].backend));
  const bool loud = deserves_warning(why) || asked.origin == Origin::ComponentRole;
  (loud ? d.warnings : d.notes).push_back(std::move(text));
}

std::string selected_name(const Asked& asked, const std::vector<Candidate>& candidates) {
  if (!asked.choice.is_auto()) return std::string(choice_name(asked.choice));
  const bool preset = !candidates.empty() && candidates[0].via.kind == ChoiceKind::DynamicCudnn;
  return preset ? "dynamic_cudnn_sdpa" : "auto";
}

void fail_with(Decision& d, const Asked& asked, const AttentionProblem& problem) {
  if (!d.refused.empty()) {
    d.cause = cause_of(d.refused);
    d.error = error_of(d, asked, problem);
    if (deserves_warning(*d.cause)) d.warnings.push_back(d.error->what);
  }
}

}  // namespace

bool deserves_warning(const Refusal& refusal) {
  switch (refusal.reason) {
    case Reason::BindingBroken:
    case Reason::KnownBad:
    case Reason::Quarantined:
      return true;
    case Reason::NotInstalled:
      return info(refusal.backend).loud_when_missing;
    case Reason::CapabilityUnserved:
      return refusal.backend == BackendId::Fp8FaSm120;
    default:
      return false;
  }
}

Decision resolve(const AttentionProblem& problem, const Selection& selection, const DeviceProfile& device,
                 const std::vector<PastFailure>& past) {
  const Asked asked = asked_by(selection, problem, device);
  Walk walk(problem, selection, device, past);
  Decision d;
  d.origin = asked.origin;
  d.strict = asked.strict;
  if (asked.strict) {
    walk.take({asked.choice, asked.origin, asked.provenance, false, false});
    d.candidates = walk.candidates;
    if (d.candidates.empty()) {
      Walk freely(problem, selection, device, past);
      walk_all(freely, asked, selection);
      d.instead = std::move(freely.candidates);
      d.attempts = std::move(freely.attempts);
    }
  } else {
    walk_all(walk, asked, selection);
    d.candidates = walk.candidates;
  }
  d.refused = std::move(walk.refused);
  if (d.attempts.empty()) d.attempts = std::move(walk.attempts);
  d.selected = selected_name(asked, d.candidates);
  if (d.candidates.empty()) fail_with(d, asked, problem);
  report_fallback(d, asked);
  account_for_the_rest(d, problem, device);
  return d;
}

namespace {

/// One line per distinct refusal: what is missing from a build is many rows with one text.
std::string refusals_text(const std::vector<Refusal>& refused) {
  std::string out;
  for (auto it = refused.begin(); it != refused.end(); ++it) {
    const auto same = [&](const Refusal& r) { return r.reason == it->reason && r.text == it->text; };
    if (std::any_of(refused.begin(), it, same)) continue;
    std::vector<std::string> names;
    for (const Refusal& r : refused) {
      if (same(r)) names.emplace_back(backend_name(r.backend));
    }
    out += strings::join("not    ", strings::list(names), " [", reason_name(it->reason), "]  ", it->text, "\n");
  }
  return out;
}

}  // namespace

std::string Decision::explain() const {
  std::string out = strings::join("selected ", selected, " (", origin_name(origin), strict ? ", strict" : "", ")\n");
  if (error) out += strings::join("error: ", error->line(), "\n");
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    out += strings::join(i == 0 ? "runs   " : "then   ", backend_name(c.backend), " [", quality_name(c.tier), "]");
    out += c.provenance.empty() ? "\n" : strings::join("  ", c.provenance, "\n");
  }
  out += refusals_text(refused);
  for (const std::string& text : warnings) out += strings::join("warning: ", text, "\n");
  for (const std::string& text : notes) out += strings::join("note: ", text, "\n");
  return out;
}

}  // namespace tessera::attention
