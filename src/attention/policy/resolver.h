// The one function that decides which attention backend runs a problem: pure, from plain data to a printable Decision.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attention/policy/problem.h"
#include "attention/policy/selection.h"
#include "attention/policy/verdict.h"
#include "base/error.h"
#include "platform/device_profile.h"

namespace tessera::attention {

/// A backend that accepted, with why it stands where it stands.
struct Candidate {
  BackendId backend = BackendId::Reference;
  Quality tier = Quality::Exact;  ///< the precision it is to run in; never looser than asked
  Origin origin = Origin::Default;
  std::string provenance;  ///< "flag --attention-backend fa3", or a rule's evidence
  Choice via;              ///< the choice that brought it in: "fa" for fa3 of `--attention-backend fa`
};

struct Refusal {
  BackendId backend = BackendId::Reference;
  Reason reason = Reason::NotBuilt;
  std::string text;
};

/// One row in the order in which they were tried, accepted or not.
struct Attempt {
  BackendId backend = BackendId::Reference;
  Choice via;
  std::optional<Reason> refused;
};

/// The answer for one problem on one device. `candidates` are tried in order; the next one only after Unsupported.
struct Decision {
  std::string selected = "auto";  ///< the choice that applies: "auto", "fa", "dynamic_cudnn_sdpa", "sage_attn", …
  Origin origin = Origin::Default;
  bool strict = false;  ///< nothing but the choice may serve
  std::vector<Candidate> candidates;
  std::vector<Refusal> refused;  ///< every other row of the catalog, what was asked for first
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  ///< fallbacks that were asked for: worth a line in the report, no warning
  std::optional<Error> error;      ///< set when nothing may run: then `candidates` is empty
  std::optional<Refusal> cause;    ///< with `error`: the refusal it speaks of
  std::vector<Candidate> instead;  ///< with `error`: what would run if the choice were a preference
  std::vector<Attempt> attempts;   ///< the whole order, also beyond a strict choice that failed

  bool ok() const { return !error && !candidates.empty(); }
  /// The backend to run. Precondition: ok().
  BackendId first() const { return candidates.front().backend; }
  /// People's text, several lines.
  std::string explain() const;
};

/// True for refusals that point at something faulty (a broken binding, a known-bad version, a sparse package that is
/// missing), which are logged as warnings and not as notes.
bool deserves_warning(const Refusal& refusal);

/// What happened to a problem before: the backend is refused with the reason from now on.
struct PastFailure {
  BackendId backend = BackendId::Reference;
  Reason reason = Reason::FailedBefore;  ///< FailedBefore or Quarantined
  std::string text;
};

/// Decides. Never throws and never touches the machine: equal arguments, equal answer.
Decision resolve(const AttentionProblem& problem, const Selection& selection, const platform::DeviceProfile& device,
                 const std::vector<PastFailure>& past = {});

}  // namespace tessera::attention
