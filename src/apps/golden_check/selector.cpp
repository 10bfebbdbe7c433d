#include "apps/golden_check/selector.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "apps/golden_check/selector_departures.h"

namespace tessera::golden {
namespace {

namespace fs = std::filesystem;

struct File {
  const char* name;
  RowCheck (*make)(const Json& header);
};

constexpr File kFiles[] = {
    {"oracle.json", [](const Json& header) { return oracle_check(header); }},
    {"dynamic.json", [](const Json&) { return dynamic_check(); }},
    {"quant.json", [](const Json&) { return quant_check(); }},
};

/// Every set of departures, smallest first.
const std::vector<unsigned>& subsets() {
  static const std::vector<unsigned> sets = [] {
    std::vector<unsigned> out;
    for (unsigned mask = 1; mask < 1U << kDepartureCodes.size(); ++mask) out.push_back(mask);
    std::ranges::stable_sort(out, {}, [](unsigned mask) { return std::popcount(mask); });
    return out;
  }();
  return sets;
}

/// A row that cannot be read is one failed row, not the end of the folder.
std::optional<Mismatch> guarded(const RowCheck& check, const Json& row, const World& world) {
  try {
    return check(row, world);
  } catch (const nlohmann::json::exception& e) {
    return Mismatch{"layout", e.what(), "a row as README.md describes it"};
  }
}

void check_file(GoldenReport& report, const fs::path& path, const File& file) {
  const auto document = json::read_file(path);
  if (!document) return report.count(false, file.name, "file", document.error().line(), "a readable file");
  if (!document->is_object() || !document->contains("cases") || !document->at("cases").is_array()) {
    return report.count(false, file.name, "layout", "no list 'cases'", "an object with the list 'cases'");
  }
  const RowCheck check = file.make(*document);
  for (const Json& row : document->at("cases")) check_row(report, row, check);
}

}  // namespace

void check_row(GoldenReport& report, const Json& row, const RowCheck& check) {
  const std::string id = row.value("id", "row without id");
  const auto ours = guarded(check, row, World{});
  if (!ours) return report.count(true, id, "", "", "");
  for (const unsigned mask : subsets()) {
    if (guarded(check, row, World{}.without(mask))) continue;
    ++report.checked;
    ++report.deviations[std::string(kDepartureCodes[static_cast<std::size_t>(std::countr_zero(mask))])];
    return;
  }
  report.count(false, id, ours->what, ours->got, ours->want);
}

bool is_selector(const fs::path& folder) {
  std::error_code ec;
  return std::ranges::any_of(kFiles, [&](const File& file) { return fs::is_regular_file(folder / file.name, ec); });
}

GoldenReport check_selector(const fs::path& folder) {
  GoldenReport report;
  report.path = folder;
  report.kind = "selector";
  for (const File& file : kFiles) {
    std::error_code ec;
    if (fs::is_regular_file(folder / file.name, ec)) check_file(report, folder / file.name, file);
  }
  return report;
}

}  // namespace tessera::golden
