#include "pipeline/completion.h"

#include "base/json.h"
#include "base/strings.h"
#include "pipeline/request_json.h"

namespace tessera::pipeline {

Result<GenerateRequest> fill_defaults(const GenerateRequest& request, const GenerateRequest& defaults,
                                      const std::filesystem::path& model_folder) {
  GenerateRequest base = defaults;
  const std::filesystem::path file = model_folder / "tessera.json";
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) {
    TESSERA_TRY(const Json fields, json::read_file(file));
    if (!fields.is_object()) return fail(ErrorCode::BadFile, file.string() + " is not an object of request fields");
    auto applied = apply_json(fields, base);
    if (!applied) return fail(applied.error().code, file.string() + ": " + applied.error().what, applied.error().hint);
  }
  return with_defaults(request, base);
}

Status check_multiple(const char* name, int64_t value, int64_t multiple) {
  if (value > 0 && value % multiple == 0) return {};
  const int64_t below = value > 0 ? value / multiple * multiple : 0;
  const int64_t nearest = value - below < multiple - (value - below) ? below : below + multiple;
  return fail(ErrorCode::Usage, strings::join(name, " ", value, " is not a positive multiple of ", multiple),
              strings::join("the nearest valid value is ", std::max(nearest, multiple)));
}

Status check_range(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return fail(ErrorCode::Usage, strings::join(name, " ", value, " is out of range"),
              strings::join("it must be from ", low, " to ", high));
}

Status check_finite(const char* name, std::optional<double> value) {
  if (!value || std::isfinite(*value)) return {};
  return fail(ErrorCode::Usage, strings::join(name, " ", *value, " is not a finite number"));
}

}  // namespace tessera::pipeline
