// Which optional libraries are installed, and their feature bits; found as files, so that nothing foreign is loaded.
#include <dlfcn.h>

#include <algorithm>

#include "base/env.h"
#include "base/file.h"
#include "base/strings.h"
#include "platform/probe.h"

namespace tessera::platform {
namespace {

namespace fs = std::filesystem;

/// A package is there when this path below a package folder exists.
struct Marker {
  const char* token;
  const char* path;
};

constexpr Marker kMarkers[] = {
    {"torch", "torch/lib"},
    {"flash2", "flash_attn/flash_attn_interface.py"},
    {"flash3", "flash_attn_3"},
    {"flash3", "flash_attn_interface.py"},
    {"flash4", "flash_attn/cute"},
    {"fa4_cute", "flash_attn/cute"},
    {"sage", "sageattention"},
    {"sage3", "sageattn3"},
    {"sparge", "spas_sage_attn"},
    {"vsa", "vsa"},
    {"st_attn", "st_attn"},
    {"svg", "svg"},
    {"sol_attn", "sol_attn"},
    {"triton", "triton"},
    {"cutlass", "cutlass"},
    {"flashinfer", "flashinfer"},
    {"aiter", "aiter"},
};

// The repaired binding gives the fake kernel a name of its own; the version is the same before and after (2.2.0).
constexpr std::string_view kSageFixMarker = "qk_int8_sv_f8_accum_f32_fuse_v_scale_attn_inst_buf_fake_impl";

bool present(const fs::path& path) {
  std::error_code ec;
  return fs::exists(path, ec);
}

/// The version in NAME-VERSION.dist-info, when the package has one beside it.
std::string dist_version(const fs::path& folder, const std::string& package) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".dist-info") || !name.starts_with(package + "-")) continue;
    return name.substr(package.size() + 1, name.size() - package.size() - 1 - std::string(".dist-info").size());
  }
  return {};
}

std::string package_of(const std::string& path) {
  return path.substr(0, path.find('/'));
}

void add_sage_bits(std::vector<FoundLibrary>& found, const fs::path& folder) {
  const fs::path binding = folder / "sageattention" / "sm90_compile.py";
  const auto text = file::read_text(binding);
  if (text && text->find(kSageFixMarker) != std::string::npos) {
    found.push_back({"sage_sm90_fix", "", binding.string()});
  }
}

std::vector<fs::path> package_folders(const fs::path& torch_folder) {
  std::vector<fs::path> out;
  const auto add = [&](const fs::path& folder) {
    if (!folder.empty() && present(folder) && std::ranges::find(out, folder) == out.end()) out.push_back(folder);
  };
  if (!torch_folder.empty()) add(torch_folder.lexically_normal().parent_path());
  for (const std::string& entry : strings::split(env::get("PYTHONPATH").value_or(""), ':')) add(entry);
  const auto environment = env::get("VIRTUAL_ENV");
  std::error_code ec;
  if (!environment) return out;
  for (const auto& entry : fs::directory_iterator(fs::path(*environment) / "lib", ec))
    add(entry.path() / "site-packages");
  return out;
}

std::string cudnn_text(std::size_t version) {
  return strings::join(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

/// A cuDNN that is in the process already answers for itself; two of them in one process misbehave, so no other is
/// loaded.
std::optional<FoundLibrary> find_cudnn(const std::vector<fs::path>& folders) {
  std::vector<std::string> names;
  for (const fs::path& folder : folders)
    names.push_back((folder / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9").string());
  names.emplace_back("libcudnn.so.9");
  void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NOLOAD);
  std::string where = "in this process";
  for (std::size_t i = 0; i < names.size() && library == nullptr; ++i) {
    where = names[i];
    library = dlopen(names[i].c_str(), RTLD_LAZY | RTLD_LOCAL);
  }
  if (library == nullptr) return std::nullopt;
  const auto version = reinterpret_cast<std::size_t (*)()>(dlsym(library, "cudnnGetVersion"));
  return FoundLibrary{"cudnn", version == nullptr ? "" : cudnn_text(version()), where};
}

}  // namespace

std::vector<FoundLibrary> probe_packages(const std::vector<fs::path>& folders) {
  std::vector<FoundLibrary> found;
  for (const fs::path& folder : folders) {
    for (const Marker& marker : kMarkers) {
      const auto same = [&](const FoundLibrary& f) { return f.token == marker.token; };
      if (!present(folder / marker.path) || std::ranges::any_of(found, same)) continue;
      found.push_back({marker.token, dist_version(folder, package_of(marker.path)), (folder / marker.path).string()});
    }
    add_sage_bits(found, folder);
  }
  return found;
}

std::vector<FoundLibrary> probe_libraries(const fs::path& torch_folder) {
  const auto folders = package_folders(torch_folder);
  std::vector<FoundLibrary> found = probe_packages(folders);
  if (auto cudnn = find_cudnn(folders)) found.push_back(std::move(*cudnn));
  return found;
}

}  // namespace tessera::platform
