# Flags that every one of our targets shares. They must be equal everywhere, else the precompiled header is refused.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# -fPIC everywhere, not CMake's per-target choice of -fPIC/-fPIE, so that one precompiled header serves all targets.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fPIC>)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
endif()

# -Wrestrict reports std::string code of g++ 12 itself (GCC bug 105329); -Wmissing-field-initializers would forbid
# designated initialisers that name only what differs from the defaults, which is how we call with many parameters.
set(TESSERA_WARNINGS -Wall -Wextra -Wconversion -Wno-sign-conversion -Wno-restrict
    -Wno-missing-field-initializers)
if(TESSERA_WERROR)
  list(APPEND TESSERA_WARNINGS -Werror)
endif()
