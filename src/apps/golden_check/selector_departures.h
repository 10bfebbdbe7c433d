// The deliberate departures from the reference's decisions, each of which the checker can undo to prove that it, and
// nothing else, explains a row. Reasons: docs/attention.md.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "apps/golden_check/report.h"
#include "base/json.h"

namespace tessera::golden {

enum class Departure {
  Names,            ///< one alias table for every flag, case and blanks do not matter, fa3 and fa4 are exactly that row
  StrictChoice,     ///< an explicit choice is used or refused, never replaced in silence
  CheckedFirst,     ///< device, dtype and shape are checked for every backend before it is chosen
  MissingPackage,   ///< a missing package is one more refusal, also where a fallback is allowed
  Fp8ToCudnn,       ///< fp8_fa_sm120 falls back to cuDNN, as its own message says, not to FlashAttention
  Fa2ServesFa,      ///< `fa` includes FlashAttention 2 where no newer one is installed
  QuantMerged,      ///< the weight format's policy is one more level and hides no role override or pinned layer
  UnsupportedOnly,  ///< only Unsupported makes a backend step aside; out of memory and bugs propagate
  LatchPerProblem,  ///< what a backend refused once is remembered for that problem, not for the layer
};

inline constexpr std::array<std::string_view, 9> kDepartureCodes = {
    "names",         "strict_choice", "checked_first",    "missing_package",  "fp8_to_cudnn",
    "fa2_serves_fa", "quant_merged",  "unsupported_only", "latch_per_problem"};

/// Which departures are in force; all of them: how Tessera decides. None: how the reference does.
struct World {
  unsigned departures = (1U << kDepartureCodes.size()) - 1;

  bool has(Departure d) const { return (departures >> static_cast<unsigned>(d) & 1U) != 0; }
  World without(unsigned mask) const { return {departures & ~mask}; }
};

/// What is wrong between a decision in some world and the row's expectation; nothing when they agree.
struct Mismatch {
  std::string what;
  std::string got;
  std::string want;
};

/// Decides a row in the given world and compares: the one function a kind of row has to provide.
using RowCheck = std::function<std::optional<Mismatch>(const Json& row, const World& world)>;

/// Checks one row in our world; where it differs, looks for the smallest set of departures whose undoing makes it
/// equal.
void check_row(GoldenReport& report, const Json& row, const RowCheck& check);

RowCheck oracle_check(const Json& header);
RowCheck dynamic_check();
RowCheck quant_check();

}  // namespace tessera::golden
