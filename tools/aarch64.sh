#!/usr/bin/env bash
# Builds the torch-free part for AArch64 with Debian's cross compiler and runs tests of it under qemu's user emulation.
# Needs the Debian packages g++-aarch64-linux-gnu and qemu-user-static; the libraries come from Debian's arm64 packages,
# unpacked under build/aarch64-sysroot (nothing of the system is changed).
# Use: tools/aarch64.sh [TEST...]; without names: kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/aarch64-sysroot
export TESSERA_SYSROOT=$root/tree

# apt with lists of its own, so that the system does not learn of another architecture.
arm64_apt() {
  mkdir -p "$root"/lists/partial "$root"/cache/archives/partial
  apt-get -q -o Dir::State::Lists="$root/lists" -o Dir::Cache="$root/cache" -o APT::Architecture=arm64 \
    -o APT::Architectures::=arm64 -o APT::Sandbox::User=root "$@"
}

if [ ! -e "$TESSERA_SYSROOT/usr" ]; then
  mkdir -p "$root/debs" "$TESSERA_SYSROOT"
  arm64_apt update
  (cd "$root/debs" && arm64_apt download libfmt-dev libfmt9 libspdlog-dev libspdlog1.10 zlib1g-dev zlib1g libicu-dev \
    libicu72 libpng-dev libpng16-16 libgtest-dev nlohmann-json3-dev libcli11-dev)
  for package in "$root"/debs/*.deb; do dpkg-deb -x "$package" "$TESSERA_SYSROOT"; done
fi
[ -e build/aarch64/build.ninja ] || cmake -S . -B build/aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake \
  -DCMAKE_BUILD_TYPE=Release -DTESSERA_WITH_TORCH=OFF -DTESSERA_BENCH=OFF
tests=("${@:-kernels}")
cmake --build build/aarch64 --target "${tests[@]/%/_tests}"
# Emulated code is 20 to 50 times slower: the tests run without CTest's time limits. GTEST_FILTER chooses among them.
for name in "${tests[@]}"; do
  qemu-aarch64-static -cpu max -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$TESSERA_SYSROOT/usr/lib/aarch64-linux-gnu" \
    "build/aarch64/${name}_tests"
done
