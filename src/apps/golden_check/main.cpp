// The program `golden_check`: compares this build with golden data of any folder of the known layouts.
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "apps/golden_check/report.h"
#include "base/check.h"

namespace tessera::golden {
namespace {

namespace fs = std::filesystem;

/// The folder itself when its kind is known, else its sub-folders of known kinds, in order of name.
std::vector<fs::path> expand(const fs::path& path) {
  if (kind_of(path) != nullptr) return {path};
  std::vector<fs::path> found;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(path, ec)) {
    if (!entry.is_directory()) continue;
    const auto below = expand(entry.path());
    found.insert(found.end(), below.begin(), below.end());
  }
  std::sort(found.begin(), found.end());
  return found;
}

GoldenReport check_one(const fs::path& folder) {
  const GoldenKind& kind = *kind_of(folder);
  GoldenReport report;
  try {
    report = kind.check(folder);
  } catch (const std::exception& e) {
    report.count(false, folder.filename().string(), "exception", e.what(), "a report");
  }
  report.path = folder;
  report.kind = kind.name;
  return report;
}

/// One report for a PATH that holds several folders: sums, with the folder's name before each case.
GoldenReport merge(const fs::path& path, std::vector<GoldenReport> parts) {
  if (parts.size() == 1) return std::move(parts[0]);
  GoldenReport sum;
  sum.path = path;
  sum.kind = parts[0].kind;
  for (GoldenReport& part : parts) {
    if (part.kind != sum.kind) sum.kind = "mixed";
    sum.checked += part.checked;
    sum.passed += part.passed;
    for (const auto& [reason, n] : part.skipped) sum.skipped[reason] += n;
    for (const auto& [code, n] : part.deviations) sum.deviations[code] += n;
    for (auto& f : part.failed) {
      f.name = part.path.filename().string() + "/" + f.name;
      sum.failed.push_back(std::move(f));
    }
  }
  return sum;
}

void print_for_people(const GoldenReport& r) {
  std::cout << r.path.string() << ": " << r.kind << ", " << r.passed << " of " << r.checked << " passed";
  for (const auto& [code, n] : r.deviations) std::cout << ", " << n << " deviate (" << code << ")";
  for (const auto& [reason, n] : r.skipped) std::cout << ", " << n << " skipped (" << reason << ")";
  std::cout << "\n";
  for (const auto& f : r.failed) {
    std::cout << "  FAILED " << f.name << ": " << f.what << ", got " << f.got << ", want " << f.want << "\n";
  }
}

int usage_error(const std::string& what) {
  std::cerr << "error: " << what << "\n";
  return 2;
}

int run(const std::vector<std::string>& paths, bool json) {
  OrderedJson rows = OrderedJson::array();
  bool ok = true;
  for (const auto& path : paths) {
    const auto folders = expand(fs::path(path).lexically_normal());
    if (folders.empty()) return usage_error(path + " is no golden folder of a known kind; see golden_check --help");
    std::vector<GoldenReport> parts;
    for (const auto& folder : folders) parts.push_back(check_one(folder));
    const GoldenReport report = merge(path, std::move(parts));
    ok = ok && report.failed.empty();
    rows.push_back(to_json(report));
    if (!json) print_for_people(report);
  }
  if (json) std::cout << rows.dump(1) << "\n";
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace tessera::golden

int main(int argc, char** argv) {
  CLI::App app("Compares this build with golden data: pipelines, attention, safetensors, selector, tokenizers");
  std::vector<std::string> paths;
  bool json = false;
  app.add_option("PATH", paths, "golden folders, or folders of them")->required();
  app.add_flag("--json", json, "print a JSON array, one object per PATH");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return tessera::golden::usage_error(e.what());
  }
  return tessera::golden::run(paths, json);
}
