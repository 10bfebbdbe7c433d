// Where cuDNN and libcuda are looked for, in which order.
#include "attention/cudnn/library.h"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "base/env.h"
#include "base/strings.h"

namespace tessera::attention::cudnn {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCudnnName = "libcudnn.so.9";
constexpr const char* kDriverName = "libcuda.so.1";

/// The folder of the first loaded object with that file name; LibTorch is found this way without any torch header.
std::optional<fs::path> folder_of_loaded(const std::string& file_name) {
  struct Search {
    std::string name;
    std::optional<fs::path> folder;
  } search{file_name, std::nullopt};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& s = *static_cast<Search*>(data);
        const fs::path path(info->dlpi_name);
        if (path.filename() != s.name) return 0;
        s.folder = path.parent_path();
        return 1;
      },
      &search);
  return search.folder;
}

/// Roots of CUDA toolkits: the environment's, the nvcc on PATH, and the one that the build found.
std::vector<fs::path> toolkit_roots() {
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto value = env::get(name)) roots.emplace_back(*value);
  }
  for (const std::string& folder : strings::split(env::get("PATH").value_or(""), ':')) {
    std::error_code ignored;
    const fs::path nvcc = fs::canonical(fs::path(folder) / "nvcc", ignored);
    if (!ignored) roots.push_back(nvcc.parent_path().parent_path());
  }
  if (*TESSERA_CUDA_ROOT != '\0') roots.emplace_back(TESSERA_CUDA_ROOT);
  return roots;
}

std::vector<fs::path> cudnn_candidates() {
  std::vector<fs::path> paths;
  if (const auto chosen = env::get("TESSERA_CUDNN_LIBRARY")) paths.emplace_back(*chosen);
  if (const auto torch = folder_of_loaded("libc10.so")) {
    paths.push_back(*torch / "../../nvidia/cudnn/lib" / kCudnnName);
  }
  paths.emplace_back(kCudnnName);
  for (const fs::path& root : toolkit_roots()) {
    for (const char* lib : {"lib64", "lib"}) paths.push_back(root / lib / kCudnnName);
  }
  return paths;
}

std::vector<fs::path> stub_candidates() {
  std::vector<fs::path> paths;
  for (const fs::path& root : toolkit_roots()) {
    for (const char* lib : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      paths.push_back(root / lib / "stubs" / "libcuda.so");
    }
  }
  return paths;
}

/// A stub stays loaded under the name libcuda.so.1 (its SONAME), so cuDNN's own dlopen finds it too.
Result<bool> load_driver() {
  if (dlopen(kDriverName, RTLD_NOW | RTLD_GLOBAL) != nullptr) return false;
  for (const fs::path& path : stub_candidates()) {
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return true;
  }
  return fail(ErrorCode::Unavailable, "no libcuda.so.1 and no stub of it in a CUDA toolkit",
              "install the NVIDIA driver, or a CUDA toolkit and set CUDA_HOME to it");
}

std::string path_of(void* symbol) {
  Dl_info info{};
  return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

Result<Library> open_cudnn() {
  void* handle = dlopen(kCudnnName, RTLD_NOW | RTLD_NOLOAD);
  const auto candidates = cudnn_candidates();
  for (size_t i = 0; handle == nullptr && i < candidates.size(); ++i) handle = dlopen(candidates[i].c_str(), RTLD_NOW);
  if (handle == nullptr) {
    return fail(ErrorCode::Unavailable, strings::join("cuDNN is not on this machine (", kCudnnName, ")"),
                "pip install nvidia-cudnn-cu13, or set TESSERA_CUDNN_LIBRARY to the file");
  }
  void* symbol = dlsym(handle, "cudnnGetVersion");
  if (symbol == nullptr) {
    return fail(ErrorCode::Unavailable, "the cuDNN library has no cudnnGetVersion", "install cuDNN 9.8 or newer");
  }
  const auto version = reinterpret_cast<size_t (*)()>(symbol)();
  return Library{.handle = handle, .path = path_of(symbol), .version = static_cast<int64_t>(version)};
}

Result<Library> load_both() {
  TESSERA_TRY(const bool stub, load_driver());
  TESSERA_TRY(Library library, open_cudnn());
  library.stub_driver = stub;
  return library;
}

}  // namespace

std::string version_text(int64_t version) {
  return strings::join(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

Result<Library> load_library() {
  static const Result<Library> library = load_both();
  return library;
}

}  // namespace tessera::attention::cudnn
