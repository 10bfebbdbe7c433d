// The result of checking one golden folder, and the table of the kinds of folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"

namespace tessera::golden {

/// One case that did not come out as the golden data says.
struct GoldenFailure {
  std::string name;  ///< the case: a file, a tensor, a row
  std::string what;  ///< what was compared
  std::string got;
  std::string want;
};

/// checked = passed + deviations + failed; skipped ones are not counted in checked.
struct GoldenReport {
  std::filesystem::path path;
  std::string kind;
  int64_t checked = 0;
  int64_t passed = 0;
  std::map<std::string, int64_t> skipped;     ///< reason → how many
  std::map<std::string, int64_t> deviations;  ///< deliberate differences by code; reasons in docs/attention.md
  std::vector<GoldenFailure> failed;

  /// Counts one comparison: passed, or failed with the two values.
  void count(bool ok, const std::string& name, const std::string& what, const std::string& got,
             const std::string& want);
};

/// Our JSON form of it: {"path", "kind", "checked", "passed", "skipped", "deviations", "failed"}.
OrderedJson to_json(const GoldenReport& report);

/// One kind of golden folder. A new kind is one row in kinds.cpp.
struct GoldenKind {
  const char* name;
  bool (*recognises)(const std::filesystem::path& folder);
  GoldenReport (*check)(const std::filesystem::path& folder);
};

/// All kinds, tried in order.
const std::vector<GoldenKind>& golden_kinds();

/// The kind of this folder, or nullptr.
const GoldenKind* kind_of(const std::filesystem::path& folder);

}  // namespace tessera::golden
