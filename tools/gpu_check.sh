#!/usr/bin/env bash
# Builds gpu_check and proves our CUDA attention on the one GPU at hand: at most 8 minutes, one JSON. It needs g++ 12,
# nvcc and a torch package (TESSERA_TORCH, .deps or the active Python's), neither CMake nor a network.
#   tools/gpu_check.sh [--out FILE] [--rounds N]   build, check, measure
#   tools/gpu_check.sh --device cpu                the same steps on a CPU, with small shapes
#   tools/gpu_check.sh --build-only                needs no GPU (TESSERA_CUDA_ARCH, sm_90 when unset)
#   tools/gpu_check.sh --carry                     collects the headers that bare machines lack in out/gpu_check/headers
set -euo pipefail
cd "$(dirname "$0")/.."

limit=460  # seconds for everything; checks that no longer fit are reported as skipped
device=cuda out=out/gpu_check/gpu_check.json rounds=20 build_only=no arch=native
build=out/gpu_check/build carried=out/gpu_check/headers

carry() {
  local p
  mkdir -p "$carried"
  for p in nlohmann spdlog fmt zlib.h; do cp -rL "/usr/include/$p" "$carried/"; done
  cp -L "$(echo '#include <zlib.h>' | g++ -M -x c++ - | tr ' ' '\n' | grep 'zconf.h$')" "$carried/"
  for p in .deps/*/lib/python3*/site-packages/include; do
    [ ! -f "$p/cudnn_frontend.h" ] || cp -rL "$p"/cudnn_* "$carried/"
  done
  du -sh "$carried"
}

while [ $# -gt 0 ]; do
  case $1 in
    --carry) carry; exit ;;
    --build-only) build_only=yes arch=${TESSERA_CUDA_ARCH:-sm_90}; shift ;;
    --device) device=$2; shift 2 ;;
    --out) out=$2; shift 2 ;;
    --rounds) rounds=$2; shift 2 ;;
    *) echo "error: unknown option $1; see the head of $0" >&2; exit 2 ;;
  esac
done

torch=$(setup/find_torch.sh) || { echo "error: no torch package: set TESSERA_TORCH" >&2; exit 1; }
mkdir -p "$build/pch/tensor" "$(dirname "$out")"

includes="-Isrc -I. -isystem $torch/include -isystem $torch/include/torch/csrc/api/include"
for d in "$carried" "$torch"/../nvidia/cudnn/include .deps/*/lib/python3*/site-packages/include; do
  [ ! -d "$d" ] || includes+=" -isystem $d"
done
flags="-std=c++23 -O2 -fPIC -fopenmp -DAT_PER_OPERATOR_HEADERS -DTORCH_ASSERT_ONLY_METHOD_OPERATORS -DFMT_HEADER_ONLY"
tools=src/apps/gpu_check/cuda_tools_missing.cpp toolkit=""
if [ "$device" = cuda ]; then
  nvcc=$(command -v nvcc || echo "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
  [ -x "$nvcc" ] || { echo "error: no nvcc: set CUDA_HOME" >&2; exit 1; }
  toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
  includes+=" -isystem $toolkit/include"
  tools=src/apps/gpu_check/cuda_tools.cpp
fi
version=$(sed -n 's/^project(tessera VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
flags+=" -DTESSERA_CUDA_ROOT='\"$toolkit\"' -DTESSERA_VERSION='\"$version\"'"

found() { printf '#include <%s>\n' "$@" | g++ $includes -E -x c++ - >/dev/null 2>&1; }
graph=no
if found cuda_runtime.h nvrtc.h cudnn.h cudnn_frontend_version.h; then
  graph=yes
  flags+=" -DTESSERA_WITH_CUDNN_GRAPH -DNV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING -DCUDNN_FRONTEND_SKIP_JSON_LIB"
fi
echo "torch $torch, CUDA ${toolkit:-none}, cuDNN graphs: $graph"

# The device descriptions, which CMake too puts into the program.
for f in src/attention/cudnn/devices/*.json; do
  printf '{"%s", R"json(%s)json"},\n' "$(basename "$f" .json)" "$(cat "$f")"
done >"$build/entries"
awk -v entries="$build/entries" '/@TESSERA_DEVICE_FILES@/ {
    while ((getline line < entries) > 0) print line
    sub(/@TESSERA_DEVICE_FILES@/, "")
  } { print }' src/attention/cudnn/device_files.cpp.in >"$build/device_files.cpp"

sources() {
  ls src/base/*.cpp src/platform/*.cpp src/kernels/{,isa/,linear/,fused/}*.cpp src/tensor/*.cpp src/bench_support/*.cpp \
    src/attention/{,backends/,cudnn/,plugin/,policy/}*.cpp src/apps/gpu_check/*.cpp src/apps/cli/machine.cpp \
    tests/attention/problems.cpp "$build/device_files.cpp" |
    grep -v '/cuda_tools' | if [ "$device" = cuda ]; then grep -v '/fused_cuda_missing'; else cat; fi |
    if [ "$graph" = yes ]; then cat; else grep -vE '/(graph|cudnn_graph_route)\.cpp'; fi
  echo "$tools"
}

object_of() { echo "$build/${1//\//_}.o"; }
compile() { echo "${CXX:-g++} $flags $includes ${*:2} -c $1 -o $(object_of "$1")"; }

# One command a line, the longest first.
commands() {
  local s
  if [ "$device" = cuda ]; then
    echo "$nvcc -std=c++17 -O2 -arch=$arch -Isrc -Xcompiler=-fPIC -c src/kernels/fused/fused_cuda.cu" \
      "-o $(object_of src/kernels/fused/fused_cuda.cu)"
  fi
  for s in $(sources | sort -r); do
    case $s in
      */graph.cpp) compile "$s" -fvisibility=hidden -fvisibility-inlines-hidden -fno-gnu-unique -O1 ;;
      */fused_cpu.cpp) compile "$s" -ffp-contract=off ;;
      */attention/* | */gpu_check/* | src/tensor/* | src/bench_support/*)
        compile "$s" "-I$build/pch -include tensor/aten.h" ;;
      *) compile "$s" ;;
    esac
  done
}

# By way of another file: a header that is compiled itself is warned of for its "#pragma once".
echo '#include "tensor/aten.h"' >"$build/pch/all.h"
eval "${CXX:-g++} $flags $includes -x c++-header $build/pch/all.h -o $build/pch/tensor/aten.h.gch"
rm -f "$build"/*.o
commands >"$build/commands"
xargs -a "$build/commands" -d '\n' -n 1 -P "$(nproc)" bash -c || { echo "error: the build failed" >&2; exit 1; }

libraries="$torch/lib/libtorch_cpu.so $torch/lib/libc10.so -l:libz.so.1 -ldl -lpthread"
runpath="-Wl,-rpath,$torch/lib"
if [ "$device" = cuda ]; then
  # LibTorch's CUDA part registers itself, nothing refers to it by symbol.
  libraries="-Wl,--no-as-needed $torch/lib/libtorch_cuda.so $torch/lib/libc10_cuda.so -Wl,--as-needed $libraries"
  libraries+=" -L$toolkit/lib64 -lcudart"
  for d in "$torch"/../nvidia/*/lib "$toolkit/lib64"; do runpath+=" -Wl,-rpath,$d"; done
fi
# One pool of OpenMP threads: the wheel's, where it has its own.
[ ! -f "$torch/lib/libgomp.so.1" ] || libraries="$torch/lib/libgomp.so.1 $libraries"
g++ "$build"/*.o -o "$build/gpu_check" $libraries -fopenmp $runpath \
  -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs
echo "built in $SECONDS s"
[ "$build_only" = no ] || exit 0
"$build/gpu_check" --device "$device" --seconds $((limit > SECONDS + 30 ? limit - SECONDS : 30)) --rounds "$rounds" \
  --out "$out" all
