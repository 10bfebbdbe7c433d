#!/usr/bin/env bash
# The Python side in .deps/python: full torch, diffusers, the benchmark's peers, and our backend package. Several GB.
# TESSERA_PYTHON names an environment that has them already.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
stamp="$root/.deps/python/.complete"
if [ -z "${TESSERA_PYTHON:-}" ] && ! cmp -s "$root/setup/requirements-python.txt" "$stamp"; then
  echo "installing torch, diffusers and the benchmark's peers into .deps/python (several GB)" >&2
  [ -d "$root/.deps/python" ] || python3 -m venv "$root/.deps/python"
  "$root/.deps/python/bin/pip" install -q --disable-pip-version-check -r "$root/setup/requirements-python.txt" >&2
  cp "$root/setup/requirements-python.txt" "$stamp"
fi
