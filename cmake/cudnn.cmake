# Headers of cuDNN, CUDA and cudnn-frontend: from a CUDA toolkit (found through nvcc or CUDA_HOME), the system, or PyPI's
# packages. Nothing is linked: all three libraries are loaded at run time. Sets TESSERA_CUDNN_HEADERS_FOUND,
# TESSERA_CUDA_ROOT, and the target tessera_cudnn_headers.
find_program(TESSERA_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin)
set(TESSERA_CUDA_ROOT "")
if(TESSERA_NVCC)
  get_filename_component(nvcc ${TESSERA_NVCC} REALPATH)
  get_filename_component(TESSERA_CUDA_ROOT ${nvcc}/../.. ABSOLUTE)
endif()

file(GLOB site_packages ${PROJECT_SOURCE_DIR}/.deps/*/lib/python3*/site-packages ${TESSERA_TORCH}/..)
set(include_hints ${TESSERA_CUDA_ROOT}/include $ENV{CUDA_HOME}/include)
foreach(folder ${site_packages})
  list(APPEND include_hints ${folder}/nvidia/cudnn/include ${folder}/nvidia/cu13/include ${folder}/include)
endforeach()

# Folders of one header each; cudnn.h and the CUDA headers may come from different packages.
set(TESSERA_CUDNN_HEADERS_FOUND TRUE)
set(folders "")
foreach(header cudnn_frontend.h cudnn.h cuda.h cuda_runtime.h nvrtc.h)
  string(MAKE_C_IDENTIFIER ${header} id)
  find_path(TESSERA_INCLUDE_${id} ${header} HINTS ${TESSERA_CUDNN_FRONTEND}/include ${include_hints})
  mark_as_advanced(TESSERA_INCLUDE_${id})
  if(TESSERA_INCLUDE_${id})
    list(APPEND folders ${TESSERA_INCLUDE_${id}})
  else()
    set(TESSERA_CUDNN_HEADERS_FOUND FALSE)
    message(STATUS "cuDNN graphs: off, ${header} not found")
  endif()
endforeach()

if(TESSERA_CUDNN_HEADERS_FOUND)
  list(REMOVE_DUPLICATES folders)
  message(STATUS "cuDNN graphs: on, headers in ${folders}")
  add_library(tessera_cudnn_headers INTERFACE)
  target_include_directories(tessera_cudnn_headers SYSTEM INTERFACE ${folders})
  target_compile_definitions(tessera_cudnn_headers INTERFACE NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
                             CUDNN_FRONTEND_SKIP_JSON_LIB)
endif()
