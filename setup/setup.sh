#!/usr/bin/env bash
# Brings a Debian 12 / Ubuntu 24.04 machine to where CMake can build: system packages, then LibTorch in .deps/.
# Does nothing when everything is there. Without root it names what is missing and stops.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)

missing_packages() {
  local p
  while read -r p; do
    case $p in '' | '#'*) continue ;; esac
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || echo "$p"
  done <"$root/setup/packages.txt"
}

install_packages() {
  local names
  names=$(missing_packages | tr '\n' ' ')
  [ -n "${names// /}" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    echo "error: these packages are missing: $names; run: sudo apt-get install -y $names" >&2
    exit 1
  fi
  echo "installing: $names" >&2
  apt-get update -qq >&2
  # shellcheck disable=SC2086  # a list of names
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $names >/dev/null
}

install_torch() {
  "$root/setup/find_torch.sh" >/dev/null && return 0
  echo "installing LibTorch into .deps/ (one download of about 550 MB)" >&2
  # A half-made environment of an interrupted run is made anew.
  rm -rf "$root/.deps/venv"
  python3 -m venv "$root/.deps/venv"
  "$root/.deps/venv/bin/pip" install -q --disable-pip-version-check --no-deps --no-compile \
    -r "$root/setup/requirements.txt" >&2
  "$root/setup/find_torch.sh" >/dev/null || { echo "error: LibTorch is not where pip should have put it" >&2; exit 1; }
}

# Headers only, for asking and running cuDNN; of use where a CUDA toolkit is, and the build goes on without them.
install_cudnn_frontend() {
  local nvcc=${CUDA_HOME:+$CUDA_HOME/bin/}nvcc
  command -v "$nvcc" >/dev/null || return 0
  compgen -G "$root/.deps/*/lib/python3*/site-packages/include/cudnn_frontend.h" >/dev/null && return 0
  [ -d "$root/.deps/headers" ] || python3 -m venv "$root/.deps/headers"
  grep '^nvidia-cudnn-frontend' "$root/setup/requirements.txt" |
    "$root/.deps/headers/bin/pip" install -q --disable-pip-version-check --no-deps --no-compile -r /dev/stdin >&2 ||
    echo "note: nvidia-cudnn-frontend could not be installed; the build goes on without cuDNN" >&2
}

install_packages
install_torch
install_cudnn_frontend
