// Problems, selections and decisions as JSON: the rows of `explain --batch`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attention/policy/problem.h"
#include "attention/policy/resolver.h"
#include "attention/policy/selection.h"
#include "base/json.h"
#include "base/result.h"
#include "platform/device_profile.h"

namespace tessera::attention {

/// Reads the fields of a row's "problem"; absent ones take the values of the documented example (FLUX at 1024, bf16).
/// Errors: Usage naming the field.
Result<AttentionProblem> problem_from_json(const Json& object);

OrderedJson problem_to_json(const AttentionProblem& problem);

/// Reads a row's "selection"; names may carry strict: or prefer:. `may_fall_back` is of the server's choice, and false
/// when absent: the rule for transformers. Errors: Usage naming the field.
Result<Selection> selection_from_json(const Json& object);

/// {"selected", "backend", "refused", "warnings", "error"} and what more there is to know.
OrderedJson decision_to_json(const Decision& decision);

/// One line of `explain --batch`.
struct BatchRow {
  AttentionProblem problem;
  Selection selection;
  platform::DeviceProfile device;
  std::vector<PastFailure> past;
};

/// Finds a device by name: a preset, a file, or the machine in use.
using DeviceByName = std::function<Result<platform::DeviceProfile>(const std::string&)>;

/// Errors: Usage, BadFile, NotFound, naming the field.
Result<BatchRow> batch_row_from_json(const Json& row, const DeviceByName& device_by_name);

/// The answer to a row that could not be read.
OrderedJson batch_error(const Error& error);

}  // namespace tessera::attention
