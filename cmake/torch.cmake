# LibTorch as imported targets, made by hand: torch's own CMake config demands a CUDA toolkit.
# TESSERA_TORCH is the folder of the Python package "torch" (with lib/ and include/).
if(NOT TESSERA_TORCH)
  set(TESSERA_TORCH $ENV{TESSERA_TORCH})
endif()
if(NOT TESSERA_TORCH)
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/setup/find_torch.sh OUTPUT_VARIABLE TESSERA_TORCH
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(NOT EXISTS ${TESSERA_TORCH}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "LibTorch not found: run setup/setup.sh, or set TESSERA_TORCH to a folder of the torch package")
endif()
set(TESSERA_TORCH ${TESSERA_TORCH} CACHE PATH "folder of the Python package torch")
message(STATUS "LibTorch: ${TESSERA_TORCH}")

add_library(tessera_c10 SHARED IMPORTED)
set_target_properties(tessera_c10 PROPERTIES IMPORTED_LOCATION ${TESSERA_TORCH}/lib/libc10.so)
add_library(tessera_torch_cpu SHARED IMPORTED)
set_target_properties(tessera_torch_cpu PROPERTIES IMPORTED_LOCATION ${TESSERA_TORCH}/lib/libtorch_cpu.so)
add_library(tessera_torch INTERFACE)
target_include_directories(tessera_torch SYSTEM INTERFACE ${TESSERA_TORCH}/include
                           ${TESSERA_TORCH}/include/torch/csrc/api/include)
# With these two a stray ATen/ATen.h is a compile error: it costs 6 s in every file.
target_compile_definitions(tessera_torch INTERFACE AT_PER_OPERATOR_HEADERS TORCH_ASSERT_ONLY_METHOD_OPERATORS)
target_link_libraries(tessera_torch INTERFACE tessera_torch_cpu tessera_c10)
# The wheel's own dependencies (libcudart, libcupti) are found through its RPATH at run time; the linker need not see them.
target_link_options(tessera_torch INTERFACE -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs)

# at::parallel_for is a header template: without -fopenmp it silently runs everything on the calling thread. The wheel's
# own libgomp is linked, so that the process has one pool of threads.
target_compile_options(tessera_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
file(GLOB torch_gomp ${TESSERA_TORCH}/lib/libgomp*.so* ${TESSERA_TORCH}/../torch.libs/libgomp*.so*)
if(torch_gomp)
  list(GET torch_gomp 0 torch_gomp)
  target_link_libraries(tessera_torch INTERFACE ${torch_gomp})
else()
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  target_link_libraries(tessera_torch INTERFACE OpenMP::OpenMP_CXX)
endif()

# Nothing refers to LibTorch's CUDA part by symbol, it registers itself: linkers would drop it.
if(TESSERA_WITH_CUDA)
  if(NOT EXISTS ${TESSERA_TORCH}/lib/libtorch_cuda.so)
    message(FATAL_ERROR "TESSERA_WITH_CUDA needs the full torch package; ${TESSERA_TORCH} has no libtorch_cuda.so")
  endif()
  target_link_options(tessera_torch INTERFACE
    -Wl,--push-state,--no-as-needed,${TESSERA_TORCH}/lib/libtorch_cuda.so,${TESSERA_TORCH}/lib/libc10_cuda.so,--pop-state)
endif()
