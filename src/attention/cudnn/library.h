// Loads cuDNN and the CUDA driver at run time, so that one program serves machines with and without them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace tessera::attention::cudnn {

/// Which library the process got, and how.
struct Library {
  void* handle = nullptr;  ///< of dlopen; never closed: kernels and threads of the library outlive any owner
  std::string path;
  int64_t version = 0;       ///< cudnnGetVersion(), e.g. 91900
  bool stub_driver = false;  ///< libcuda is the toolkit's stub: questions are answered, nothing runs
};

/// "9.19.0" for 91900.
std::string version_text(int64_t version);

/// Loads both once. First a cuDNN that is already in the process (two of them in one process misbehave), then
/// $TESSERA_CUDNN_LIBRARY, the one beside LibTorch, the loader's own, the CUDA toolkit's.
/// Errors: Unavailable when cuDNN or any libcuda is not found; the hint says what to install.
Result<Library> load_library();

}  // namespace tessera::attention::cudnn
