#include "runtime/model_folder.h"

#include <vector>

#include <dlfcn.h>

#include "base/env.h"
#include "base/strings.h"

namespace tessera::runtime {
namespace {

namespace fs = std::filesystem;

/// The program or libtessera.so that holds this code: installed files are found relative to it.
fs::path own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code ec;
  return fs::canonical(info.dli_fname, ec);
}

std::vector<fs::path> demo_places() {
  std::vector<fs::path> places;
  if (const auto given = env::get("TESSERA_DEMO_MODEL")) places.emplace_back(*given);
  const fs::path own = own_file();
  if (own.empty()) return places;
  places.push_back(own.parent_path().parent_path() / "share/tessera/demo-model");        // installed
  places.push_back(own.parent_path().parent_path().parent_path() / "demo-model/model");  // build/<preset>/tessera
  return places;
}

}  // namespace

Result<fs::path> find_model(const std::string& model) {
  std::error_code ec;
  if (model != "demo") {
    if (fs::is_directory(model, ec)) return fs::path(model);
    return fail(ErrorCode::NotFound, strings::join("there is no model folder ", model),
                "--model takes a folder in diffusers' layout (with model_index.json), or demo");
  }
  std::vector<std::string> tried;
  for (const fs::path& place : demo_places()) {
    if (fs::is_regular_file(place / "model_index.json", ec)) return place;
    tried.push_back(place.string());
  }
  return fail(ErrorCode::NotFound, "the demo model is not there (looked in " + strings::list(tried) + ")",
              "set TESSERA_DEMO_MODEL to its folder");
}

}  // namespace tessera::runtime
