# The CUDA language for our own kernels, for every architecture that the attention policy names. They are C++17, the last
# standard that CMake 3.25 knows a flag of nvcc 13 for.
if(NOT TESSERA_WITH_CUDA)
  return()
endif()
if(NOT TESSERA_NVCC)
  message(FATAL_ERROR "TESSERA_WITH_CUDA needs nvcc: install a CUDA toolkit and put its bin folder on PATH")
endif()
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${TESSERA_NVCC})
endif()
set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100-real 120-real)
# One libcudart in the process: LibTorch's, which has the same SONAME.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)
